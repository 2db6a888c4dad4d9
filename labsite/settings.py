"""Django's settings.

Everything that a deployment changes is read from the environment. With nothing set the site runs on this
machine. Lists are comma-separated.

  DATABASE_URL       default: SQLite in var/lab.sqlite3. Example: postgres://user:password@host/name.
  REDIS_URL          default: none, one server process. With redis://host:6379/0 several processes serve the
                     same labs.
  SECRET_KEY         default: made once and kept in var/secret-key.
  ALLOWED_HOSTS      host names, default: localhost,127.0.0.1,[::1].
  SHARED_ADDRESS     address of the site for other computers, such as http://192.168.1.20:8000: links to share
                     begin with it where the page is open under a name of this computer only. Default: none.
  TRUSTED_ORIGINS    origins beside the site's own, for a proxy that changes Host. Default: none. Example:
                     https://lab.example.org.
  TRUSTED_PROXIES    addresses or networks of proxies whose X-Forwarded-For names the visitor that quotas
                     count for. Default: none.
  SECURE             1 when the site is reached by https only: secure cookies and HSTS.
  FAILOVER_LAB_DATA  folder of the database file, the key, reports, experiments and audits. Default: var/
                     beside this folder.
  LAB_MEMORY_MB      estimated memory of the labs of one server process, default: 2048.
  LAB_RECORDINGS_DIR folder with recorded runs that the gallery lists, default: none beside the built-in ones.
  ENGINE_PROCESSES   processes of the worker that run small experiments and the answers of My set-up, default:
                     one for each core.
  COLD_WORKER        1 when the report worker starts Spark for its first report only. Default: it starts Spark
                     when it starts itself, and makes a small report, so that the first one is quick.
  DEBUG              1 shows tracebacks in the browser and reloads static files.
"""

from __future__ import annotations

import os
from pathlib import Path

from labsite import database, environment
from labsite.bodies import LARGEST_BODY_BYTES

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("FAILOVER_LAB_DATA") or BASE_DIR / "var")
DATA_DIR.mkdir(parents=True, exist_ok=True)

DEBUG = environment.flag("DEBUG")
SECURE = environment.flag("SECURE")
COLD_WORKER = environment.flag("COLD_WORKER")
SECRET_KEY = environment.secret_key(DATA_DIR)
ALLOWED_HOSTS = environment.names("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
SHARED_ADDRESS = (environment.address("SHARED_ADDRESS", ("http", "https")) or "").rstrip("/")
TRUSTED_ORIGINS = environment.names("TRUSTED_ORIGINS", [])
TRUSTED_PROXIES = environment.networks("TRUSTED_PROXIES")
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS

INSTALLED_APPS = [
    "django.contrib.staticfiles",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "channels",
    "labsite",  # its db_worker takes precedence over the library's
    "django_tasks",
    "django_tasks_db",
    "visualizer",
    "visualizer.tasks",
]

MIDDLEWARE = [
    "labsite.middleware.security_headers",
    "labsite.middleware.StaticFiles",
    "labsite.middleware.allowed_hosts",
    "labsite.database.DatabaseErrors",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
]

ROOT_URLCONF = "labsite.urls"
ASGI_APPLICATION = "labsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

DATABASE_URL = environment.address("DATABASE_URL", ("sqlite", "postgres", "postgresql"))
DATABASES = {"default": database.settings_of(DATABASE_URL or f"sqlite:///{DATA_DIR / 'lab.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LAB_MEMORY_MB = environment.number("LAB_MEMORY_MB", 2048, 1)
"""Most memory of the labs of one server process, estimated.

The default leaves half of a 4 GiB server to everything else.
"""

ENGINE_PROCESSES = environment.number("ENGINE_PROCESSES", len(os.sched_getaffinity(0)), 1)
"""Processes of the worker that run small experiments and the answers of My set-up."""

LAB_RECORDINGS_DIR = environment.folder("LAB_RECORDINGS_DIR")
"""Folder of recorded runs (docs/labs.md), None for the built-in ones only."""

REDIS_URL = environment.address("REDIS_URL", ("redis", "rediss", "unix"))
if REDIS_URL:
    # Publish/subscribe rather than the list layer: a late frame is useless, and nothing is dropped silently
    # at 100 messages.
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "failover-lab"},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

RULES = environment.rules(
    [
        name
        for name, is_shared in (
            ("SHARED_ADDRESS", bool(SHARED_ADDRESS)),
            ("SECURE", SECURE),
            ("TRUSTED_ORIGINS", bool(TRUSTED_ORIGINS)),
            ("TRUSTED_PROXIES", bool(TRUSTED_PROXIES)),
            ("REDIS_URL", bool(REDIS_URL)),
            ("ALLOWED_HOSTS", not environment.only_here(ALLOWED_HOSTS)),
        )
        if is_shared
    ]
)
"""Name and digest of a rule of one's own (docs/rules.md), None without one and on a shared site."""

TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default", "engine"]}}

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static", ("plotly", BASE_DIR / "spark_reports/html/plotly")]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 0  # names have no hash, so a browser revalidates each time and gets a 304
WHITENOISE_ALLOW_ALL_ORIGINS = False

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
# longer bodies are refused in labsite.bodies, these are kept in memory
DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = LARGEST_BODY_BYTES

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}

SILENCED_SYSTEM_CHECKS: list[str] = []
