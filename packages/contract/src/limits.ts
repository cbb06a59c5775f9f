/** Limits of the API: defaults of settings, and the bounds that schemas state. */
export const LIMITS = {
  /** UTF-16 code units of a message's text. */
  messageText: 32_000,
  /** Bytes of a JSON body, over REST and over the socket. */
  bodyBytes: 256 * 1024,
  /** Levels of arrays and objects within each other in a JSON body or the payload of an event. */
  jsonDepth: 64,
  /** Requests of an address, of a user, and messages of a user: in the long run, and at once. */
  rates: {
    ip: { perSecond: 100, burst: 300 },
    user: { perSecond: 20, burst: 60 },
    sends: { perSecond: 5, burst: 20 },
    search: { perSecond: 2, burst: 20 },
  },
  /** UTF-16 code units of a search, and its different words. */
  searchText: 256,
  searchWords: 8,
  /** Milliseconds that a search may take. */
  searchTimeoutMs: 1_500,
  /** Bytes of a list in one response, roughly; a list that goes on says so. */
  listBytes: 1_000_000,
  /** Characters of a conversation's title, and of one that is taken from its first message. */
  title: 200,
  titleFromMessage: 60,
  conversationsPerWorkspace: 500,
  /** Characters of an `Idempotency-Key`, and hours that it is known. */
  idempotencyKey: 255,
  idempotencyKeptHours: 24,
  pageDefault: 50,
  pageMaximum: 100,
  /** Turns that may wait in one conversation. */
  queuedTurns: 20,
  /** Bytes of a reply as UTF-8, and the tools that it uses and messages that it sends besides. */
  replyBytes: 1024 ** 2,
  replyParts: 200,
  subscriptionsPerSocket: 50,
  /** Sockets of one user over all gateways; the oldest is closed for one more. */
  socketsPerUser: 10,
  /** Events from one socket: in the long run, and at once. */
  eventsPerSocket: { perSecond: 20, burst: 40 },
  /** Bytes that may wait for one socket. */
  unreadBytesPerSocket: 1024 ** 2,
  /** Bytes of one file, and of all files of a user. */
  uploadBytes: 25 * 1024 ** 2,
  uploadBytesPerUser: 5 * 1024 ** 3,
  /** Files of a user, whatever their size. */
  uploadsPerUser: 10_000,
  /** Seconds between two exports of a user, and days for which an archive is kept. */
  exportIntervalS: 3_600,
  exportsKeptDays: 7,
  attachmentsPerMessage: 20,
  mentionsPerMessage: 50,
  workspacesPerUser: 5,
  /** Sign-ups of one identity within a day after a deletion of its account. */
  signUpsAfterDeletionPerDay: 2,
  /** Days for which the audit log has the sign-ins and logouts of users. */
  sessionAuditKeptDays: 90,
  /** How long a durable event can be replayed. */
  eventsKeptDays: 7,
  memoriesPerAgent: 500,
  /** Bytes of a memory's content, as UTF-8. */
  memoryBytes: 8 * 1024,
  promptsPerAgent: 20,
  /** UTF-16 code units of a prompt's content. */
  promptText: 8_000,
} as const;
