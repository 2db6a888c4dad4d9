/** What commands about durable shared subscriptions will do, in words and before they are given. */

/** @type {Object<string, (command: object) => string[]>} */
export const GROUP_WORDS = {
  "session.connect": ({ session }) => [`${session ?? "The client"} connects; what its session had in flight comes again, and its streams must be granted anew.`],
  "session.disconnect": ({ session }) => [`${session ?? "The session"} tells its leaders how far it was; its streams are free at once, from the beginning of what is not wholly acknowledged.`],
  "session.kill": ({ session }) => [`${session ?? "The session"} says nothing to anybody: its leader waits until the last ping is five seconds old, and nobody reads its streams meanwhile.`],
  "session.subscribe": ({ topic }) => [`A new borrower looks for the leader of ${topic ?? "the group"}, or reads the filter's streams by itself.`],
  "session.unsubscribe": () => ["Its borrower waits at most a second for what is unacknowledged, then gives all streams back."],
  "session.pause-acks": ({ session }) => [`${session ?? "The client"} acknowledges nothing: chunks stay in flight, and a stream that is revoked from it waits without a limit.`],
  "session.resume-acks": ({ session }) => [`${session ?? "The client"} goes on with what it has.`],
  "leader.crash": ({ group }) => [`What ${group ?? "the group"}'s leader has not committed is forgotten; its claim is believed until it is thirty seconds old.`],
  "leader.stop": ({ group }) => [`${group ?? "The group"}'s leader commits and gives its claim back; its borrowers notice when a ping is not answered.`],
  "group.declare": ({ group }) => [`What matches ${group ?? "the group"}'s filter is kept from now on.`],
  "group.destroy": ({ group }) => [`${group ?? "The group"} is gone with its progress; its borrowers look for a leader in vain.`],
  "node.crash": ({ node }) => [`Every session and leader at ${node ?? "the node"} dies; nothing of theirs is committed.`],
  "node.restart": ({ node }) => [`${node ?? "The node"} comes back empty; clients connect again.`],
  "storage.close-generation": () => ["The streams of all shards end where they are; what is published from now on opens new ones."],
  "storage.add-shards": () => ["Clients are dealt over more shards; the streams that are there stay."],
  "store.fail": () => ["No leader can be elected and none can commit meanwhile."],
  "protocol.lose": ({ type }) => [`The next ${type ?? "message of this kind"} reaches nobody.`],
  "protocol.delay": ({ type }) => [`The next ${type ?? "message of this kind"} comes late.`],
  "protocol.duplicate": ({ type }) => [`The next ${type ?? "message of this kind"} comes twice.`],
  "publisher.publish": ({ publisher }) => [`${publisher ?? "The publisher"} publishes at once.`],
  "publisher.pause": ({ publisher }) => [`${publisher ?? "The publisher"} publishes nothing for now.`],
  "publisher.resume": ({ publisher }) => [`${publisher ?? "The publisher"} goes on.`],
};
