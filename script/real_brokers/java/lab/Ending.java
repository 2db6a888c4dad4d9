package lab;

/** Ends a process that takes too long to close. */
final class Ending {
    private Ending() {
    }

    /** Halt this process after so many milliseconds, whatever its threads do. */
    static void haltAfter(long milliseconds) {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(milliseconds);
            } catch (InterruptedException early) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(1);
        }, "ending");
        thread.setDaemon(true);
        thread.start();
    }
}
