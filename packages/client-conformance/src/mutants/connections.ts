import type { Mutant } from './mutant.js';

export const EVENTS: Mutant[] = [
  {
    name: 'subscribes without its position',
    edits: [['since: Object.fromEntries(positions)', 'since: {}']],
    fails: [
      'event-after-snapshot',
      'end-while-away',
      'restart-after-answer',
      'resume',
      'burst',
      'conversation-deleted-while-ended',
    ],
  },
  {
    name: 'ignores the messages of a page',
    edits: [['for (const message of messages) folding.putMessage(draft, w, message);', '']],
    fails: ['snapshot'],
  },
  {
    name: 'loads short pages',
    edits: [['limit: 50', 'limit: 10']],
    fails: ['huge-page'],
  },
  {
    name: 'takes a transient refusal for the end',
    edits: [
      ['if (error.retryable) {', "if (error.code === 'network_error') {"],
      ['attempt < (request.retries ?? 3)', 'false'],
    ],
    fails: ['snapshot-unavailable'],
  },
  {
    name: 'sorts by time',
    edits: [['a.position < b.position', 'a.created_at < b.created_at']],
    fails: ['order-by-position'],
  },
  {
    name: 'reloads after a jump of seq',
    edits: [
      ["if (name === 'workspace.resync') draft", "if (name === 'workspace.resync' || (seq ?? 0) > 1_000) draft"],
      ['if (isMissing ||', 'if ((seq ?? 0) > 1_000 || isMissing ||'],
    ],
    fails: ['gap'],
  },
  {
    name: 'ignores rev',
    edits: [['known !== undefined && item.rev !== undefined && item.rev <= (known.rev ?? -1)', 'false']],
    fails: ['doubled-events', 'older-copy'],
  },
  {
    name: 'ignores workspace.position',
    edits: [
      ['if (seq !== undefined && position &&', "if (name !== 'workspace.position' && seq !== undefined && position &&"],
    ],
    fails: ['reported-position'],
  },
  {
    name: 'ignores workspace.resync',
    edits: [["if (name === 'workspace.resync') draft.set(`${w}/position`);", '']],
    fails: ['resync', 'creation-after-resync'],
  },
  {
    name: 'reloads immediately',
    edits: [["if (name === 'workspace.resync') await delay(inMs);", '']],
    fails: ['resync-spread'],
  },
  {
    name: 'forgets its outbox when it reloads',
    edits: [['[`${w}/`, `workspaces/${w}`].forEach', "[`${w}/`, 'outbox/'].forEach"]],
    fails: ['resync-with-unsent'],
  },
  {
    name: 'forgets nothing when it reloads',
    edits: [['[`${w}/`, `workspaces/${w}`].forEach', '[].forEach']],
    fails: ['epoch-change'],
  },
  {
    name: 'ignores message.deleted',
    edits: [["if (as('message.deleted')) {", 'if (false) {']],
    fails: ['deleted-while-offline', 'edited-on-another-device'],
  },
  {
    name: 'ignores conversation.deleted',
    edits: [["if (as('conversation.deleted')) {", 'if (false) {']],
    fails: ['conversation-deleted'],
  },
  {
    name: 'ignores the conversation in events',
    edits: [['putCopy(draft, `${w}/conversation/${id}`, conversation);', '']],
    fails: ['read-on-another-device', 'renamed-on-another-device', 'conversation-change-of-a-message'],
  },
];

const RECONNECTS = ['rate-limited', 'slow-consumer', 'server-leaving', 'token-expired'].map((code) => `ending-${code}`);
const ENDS = ['logged-out', 'user-banned', 'user-deleted', 'session-ended', 'too-many-sockets'];

export const SESSIONS: Mutant[] = [
  {
    name: 'never asks for a fresh token',
    edits: [['options.token({ refresh: isRefused })', 'options.token({ refresh: false })']],
    fails: ['token-expiring', 'token-expired-while-away', 'background-expired'],
  },
  {
    name: 'tries again after a final refusal',
    edits: [
      [
        '} else stop(SESSION_CODES',
        '} else retry = setTimeout(() => void connect(), 100);\n    if (false) stop(SESSION_CODES',
      ],
    ],
    fails: ['refused-credentials', 'revoked-credentials'],
  },
  {
    name: 'connects again after each end',
    edits: [['if (!reconnect) stop(', 'if (false) stop(']],
    fails: [...ENDS.map((code) => `ending-${code}`), 'ending-unknown'],
  },
  {
    name: 'takes each end for the last one',
    edits: [['if (!reconnect) stop(', 'if (true) stop(']],
    fails: RECONNECTS,
  },
  {
    name: 'decides by the codes that it knows whether to connect again',
    edits: [
      ['if (!reconnect) stop(', "if (!['token_expired', 'rate_limited', 'server_leaving'].includes(code)) stop("],
    ],
    fails: ['ending-unknown-reconnect'],
  },
  {
    name: 'connects only once',
    edits: [['if (error.retryable) {', 'if (false) {']],
    fails: ['service-unavailable-at-connect', 'heartbeat-lost'],
  },
  {
    name: 'connects again without waiting for Retry-After',
    edits: [['void connect(), backOff(attempt, error.retry_after_ms));', 'void connect(), 10);']],
    fails: ['rate-limited-at-connect'],
    transport: 'sse',
  },
  {
    name: 'forgets the resume token',
    edits: [["if (name === 'session.ready') resumeToken =", "if (name === 'session.begun') resumeToken ="]],
    fails: ['resume-token'],
  },
  {
    name: 'trusts the connection of before the background',
    edits: [['}, backgroundMs);', '}, 1_000_000);']],
    fails: ['background'],
  },
];

const KNOWN_FIELDS =
  'id conversation_id role content status extended_status created_at updated_at rev position error edited_at local_id agent attachments mentions truncated turn_id in_reply_to';

/** Skips the messages for which the condition does not hold. */
const only = (condition: string): [string, string][] => [
  ['if (message) putMessage(', `if (message && (${condition})) putMessage(`],
];

export const LATER_RELEASES: Mutant[] = [
  {
    name: 'looks for messages in events that it does not know',
    edits: [['(OBJECTS.test(name) ? payload : {})', '(payload)']],
    fails: ['unknown-event'],
  },
  {
    name: 'shows the text of the contents that it knows',
    edits: [["'text' in content ? (content.text ?? '')", "content.type === 'text' ? content.text"]],
    fails: ['unknown-content'],
  },
  {
    name: 'skips messages with an unknown type of content',
    edits: only("['text', 'loading', 'action_card', 'tool_status', 'system'].includes(message.content.type)"),
    fails: ['unknown-content-without-text'],
  },
  {
    name: 'skips messages with unknown fields',
    edits: only(`Object.keys(message).every((key) => '${KNOWN_FIELDS}'.split(' ').includes(key))`),
    fails: ['unknown-fields'],
  },
  {
    name: 'skips messages with unknown values',
    edits: only("['user', 'agent', 'system'].includes(message.role)"),
    fails: ['unknown-values'],
  },
  {
    name: 'skips messages with an unknown error',
    edits: only("['runtime_lost', undefined].includes(message.error?.code)"),
    fails: ['unknown-message-error'],
  },
];

export const EVENT_STREAM: Mutant[] = [
  {
    name: 'takes a comment for the end of an event',
    edits: [["if (line !== '') continue;", "if (line !== '' && !line.startsWith(':')) continue;"]],
    fails: ['sse-comments'],
    transport: 'sse',
  },
  {
    name: 'decodes each packet alone',
    edits: [['decoder.decode(value, { stream: true })', 'decoder.decode(value)']],
    fails: ['sse-split'],
    transport: 'sse',
  },
  {
    name: 'knows only line feeds',
    edits: [['/\\r\\n|\\n|\\r(?!$)/', '/\\n/']],
    fails: ['sse-crlf'],
    transport: 'sse',
  },
  {
    name: 'ignores the retry field',
    edits: [["if (field === 'retry' &&", "if (field === 'tries' &&"]],
    fails: ['sse-retry'],
    transport: 'sse',
  },
  {
    name: 'takes the byte order mark for text',
    edits: [['new TextDecoder()', "new TextDecoder('utf-8', { ignoreBOM: true })"]],
    fails: ['sse-bom'],
    transport: 'sse',
  },
  {
    name: 'knows data of one line only',
    edits: [["if (field === 'data') data.push(value);", "if (field === 'data') data = [value];"]],
    fails: ['sse-multi-line'],
    transport: 'sse',
  },
];
