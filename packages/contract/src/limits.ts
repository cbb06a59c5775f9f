/** Limits of the API: defaults of settings, and the bounds that schemas state. */
export const LIMITS = {
  /** UTF-16 code units of a message's text. */
  messageText: 32_000,
  /** Bytes of a JSON body, over REST and over the socket. */
  bodyBytes: 256 * 1024,
  pageDefault: 50,
  pageMaximum: 100,
  /** Turns that may wait in one conversation. */
  queuedTurns: 20,
  subscriptionsPerSocket: 50,
  attachmentsPerMessage: 20,
  mentionsPerMessage: 50,
  workspacesPerUser: 5,
} as const;
