/** Milliseconds between two reports from a device, and between two gateway requests that forward such reports. */
const positions = { deviceMs: 10_000, gatewayMs: 2_000 } as const;
/** Milliseconds for the network, and for clients whose timers are late. */
const POSITION_DELAYS_MS = 6_000;

/** Memories per agent and, again, per workspace, and UTF-8 bytes per memory. */
const memories = { memoriesPerAgent: 500, memoryBytes: 8 * 1024 } as const;
/** A memory's bytes without its content. */
const MEMORY_FIELD_BYTES = 2_000;

/** API limits. Settings use them as defaults, schemas as bounds. */
export const LIMITS = {
  /** Unicode code points in a message text, as all limits on characters: what `maxLength` counts in JSON Schema. */
  messageText: 32_000,
  /** Bytes in a JSON body, over REST and over the socket. */
  bodyBytes: 256 * 1024,
  /**
   * Bytes in a socket packet. A payload above `bodyBytes` is refused; a larger packet closes its connection. A gateway
   * holds up to this much per connection.
   */
  packetBytes: 2 * 1024 ** 2,
  /** The same before authentication: an address may have 1,000 such connections, and a gateway pod has 512 MiB. */
  unauthenticatedPacketBytes: 384 * 1024,
  /** Nesting depth in a JSON body or an event payload. */
  jsonDepth: 64,
  /** Requests per IP address, per user and per trigger, and messages per user: sustained rate and burst. */
  rates: {
    ip: { perSecond: 100, burst: 300 },
    user: { perSecond: 20, burst: 60 },
    sends: { perSecond: 5, burst: 20 },
    search: { perSecond: 2, burst: 20 },
    triggers: { perSecond: 1, burst: 60 },
  },
  /** Characters in a search text, and its distinct words. */
  searchText: 256,
  searchWords: 8,
  /** Milliseconds per search. */
  searchTimeoutMs: 1_500,
  /** Approximate bytes per page. A longer one has a next page. */
  listBytes: 1_000_000,
  /** Characters in the text of `last_message`. */
  lastMessageText: 500,
  /** Characters in a conversation title, and in a title that is derived from the first message. */
  title: 200,
  titleFromMessage: 60,
  conversationsPerWorkspace: 500,
  /** Characters of an `Idempotency-Key`, and hours for which it is stored. */
  idempotencyKey: 255,
  idempotencyKeptHours: 24,
  pageDefault: 50,
  pageMaximum: 100,
  /** Queued turns per conversation. */
  queuedTurns: 20,
  /** UTF-8 bytes in a reply, and its tool calls and additional messages. */
  replyBytes: 1024 ** 2,
  replyParts: 200,
  subscriptionsPerSocket: 50,
  /** Sockets per user across all gateways. A further one closes the oldest. */
  socketsPerUser: 10,
  /**
   * How device positions prevent notifications. An answer is announced after `announceMs`: by then a device that shows
   * it has reported its position, and its gateway has forwarded it, also if the first request failed.
   */
  positions: { ...positions, announceMs: positions.deviceMs + 2 * positions.gatewayMs + POSITION_DELAYS_MS },
  /** Events from one socket: sustained rate and burst. */
  eventsPerSocket: { perSecond: 20, burst: 40 },
  /** Events from one socket that are refused as too many, above which the session ends: sustained rate and burst. */
  refusalsPerSocket: { perSecond: 20, burst: 1_000 },
  /** Events from one socket that wait for the service. */
  queuedEventsPerSocket: 64,
  /** Unsent bytes per socket. */
  unreadBytesPerSocket: 1024 ** 2,
  /** Bytes per file, and per user. */
  uploadBytes: 25 * 1024 ** 2,
  /** Milliseconds that a request may take to arrive: the largest file at 8 KiB/s. Other bodies are smaller, and bounded by a minimum rate. */
  requestMs: 3_300_000,
  uploadBytesPerUser: 5 * 1024 ** 3,
  /** Files per user. */
  uploadsPerUser: 10_000,
  /** Seconds between two exports per user, and days for which an archive is kept. */
  exportIntervalS: 3_600,
  exportsKeptDays: 7,
  /** Bytes of an imported workspace: all files that a user may have, and the rest. */
  importBytes: 6 * 1024 ** 3,
  /** Characters of a transcript that messages show. */
  transcript: 10_000,
  attachmentsPerMessage: 20,
  mentionsPerMessage: 50,
  workspacesPerUser: 5,
  apiTokensPerUser: 50,
  /** Characters in an API token's name, and workspaces in its list. */
  apiTokenName: 100,
  apiTokenWorkspaces: 50,
  /** Days until an API token expires, by default and at most. */
  apiTokenDays: 90,
  apiTokenMaxDays: 366,
  /** Sign-ups per identity within a day after the deletion of its account. */
  signUpsAfterDeletionPerDay: 2,
  /** Days for which the audit log keeps sign-ins and logouts. */
  sessionAuditKeptDays: 90,
  /** Days for which a durable event can be replayed. */
  eventsKeptDays: 7,
  /** Days for which finished journals are kept. */
  journalsKeptDays: 30,
  ...memories,
  /**
   * Stored bytes of all memories in one response. The specification gives this list without pages, so all memories that
   * the default limits allow are in one response of an agent, with its workspace's. Only with higher limits it can have a next page.
   */
  memoryListBytes: 2 * memories.memoriesPerAgent * (memories.memoryBytes + MEMORY_FIELD_BYTES),
  /** Hours for which the user can approve a tool call. */
  approvalHours: 24,
  /** Minutes for which a call waits for the user's answer to its server's question. */
  questionMinutes: 10,
  formFields: 20,
  formOptions: 50,
  /** Characters of a field's value. */
  formText: 4_000,
  artifactsPerWorkspace: 1_000,
  /** Versions per artifact. */
  artifactVersions: 100,
  /** UTF-8 bytes per artifact version. */
  artifactBytes: 64 * 1024,
  /** Characters in an artifact title, and in the beginning of its content in messages and lists. */
  artifactTitle: 200,
  artifactPreview: 300,
  /** Agents per workspace besides the manager. */
  subAgents: 12,
  /** Characters in an agent's name, role and description. */
  agentName: 60,
  agentRole: 100,
  agentDescription: 500,
  promptsPerAgent: 20,
  /** Characters in a prompt. */
  promptText: 8_000,
  /** Unfinished tasks that one turn has given to other agents. */
  parallelDelegations: 5,
  /** 1: tasks in turns that answer the user. 2: tasks that these tasks give. */
  delegationDepth: 2,
  /** Characters in a task, with its expectation and context. */
  taskText: 16_000,
  /** UTF-8 bytes in a task result. */
  taskResultBytes: 16 * 1024,
  /** Characters of a task that its message shows. */
  taskPreview: 200,
  /** Workflow steps, and steps that run at the same time. */
  workflowSteps: 12,
  parallelSteps: 5,
  /** Running workflows per workspace. */
  runningWorkflows: 10,
  /** Characters in the name of a workflow or a step. */
  workflowName: 120,
  /** Characters per text, arguments and result in turn steps. */
  stepText: 4_000,
  /** UTF-8 bytes of all results in the message with which an agent learns that a workflow ended. */
  workflowReportBytes: 48 * 1024,
  /** Characters in a schedule's title. */
  scheduleTitle: 120,
  /** Characters in what a schedule asks. */
  schedulePrompt: 8_000,
  /** Failed runs in a row after which a schedule pauses. */
  scheduleFailures: 5,
  /** Runs that a schedule keeps; older ones are deleted. */
  scheduleRunsKept: 100,
  /** Bytes in a request to a trigger. */
  triggerBodyBytes: 64 * 1024,
  /** Trigger runs that wait for earlier ones. */
  triggerRunsQueued: 20,
  /** Characters in a trigger's signing secret. */
  signingSecretMin: 16,
  signingSecretMax: 256,
  /** Schedules and triggers per user that are active or paused. */
  schedulesPerUser: 50,
  /** Finished schedules that a user keeps; older ones are deleted. */
  finishedSchedulesKept: 200,
  /** Least seconds between two runs. */
  scheduleIntervalS: 900,
} as const;
