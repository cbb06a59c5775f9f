import type { Mutant } from './mutant.js';

const RETRIED = ['lost-message', 'service-unavailable', 'unknown-transient-refusal'];

export const SENDING: Mutant[] = [
  {
    name: 'sends each attempt under a new local_id',
    edits: [['const body = { local_id, content:', 'const body = { local_id: crypto.randomUUID(), content:']],
    fails: ['lost-acknowledgement', 'lost-message', 'stored-unknown', 'restart-after-lost-acknowledgement'],
  },
  {
    name: 'sends each attempt under a new local_id, over server-sent events',
    edits: [['const body = { local_id, content:', 'const body = { local_id: crypto.randomUUID(), content:']],
    fails: ['lost-response'],
    transport: 'sse',
  },
  {
    name: 'does not recognize its own messages in the log',
    edits: [["if (localId !== null && message.role === 'user') draft.set(`outbox/${localId}`);", '']],
    fails: ['event-before-acknowledgement', 'message-of-another-device'],
  },
  {
    name: 'sends again without waiting for retry_after_ms',
    edits: [['backOff(attempts, error.retry_after_ms)', '10']],
    fails: ['rate-limited'],
  },
  {
    name: 'gives up at the first refusal',
    edits: [['!error.retryable && !isSignedOut', 'true']],
    fails: RETRIED,
  },
  {
    name: 'never gives up',
    edits: [['!error.retryable && !isSignedOut', 'false']],
    fails: ['refused', 'unknown-refusal'],
  },
  {
    name: 'judges a refusal by its status',
    edits: [['(isTransient && !FINAL_CODES.includes(code))', 'isTransient']],
    fails: ['limit-reached'],
  },
  {
    name: 'keeps the outbox in memory',
    edits: [["!key.includes('~')) unsaved.set", "!key.includes('~') && !key.startsWith('outbox/')) unsaved.set"]],
    fails: ['restart-with-unsent'],
  },
  {
    name: 'sends the newest message first',
    edits: [['items().find((each) => each.conversation_id', 'items().findLast((each) => each.conversation_id']],
    fails: ['three-queued', 'order-after-refusal', 'order-after-loss'],
  },
  {
    name: 'shows a message when it is stored',
    edits: [
      ['...outbox.flatMap((item) => (item.conversation_id === id ?', '...outbox.flatMap((item) => (item === id ?'],
    ],
    fails: ['send', 'slow-answer'],
  },
  {
    name: 'takes two messages with the same text for one',
    edits: [['message.local_id ?? newId()', 'message.local_id ?? message.text']],
    fails: ['same-text-twice'],
  },
  {
    name: 'does not continue its outbox after a reconnect',
    edits: [['outbox.resume();', '']],
    fails: ['send-offline'],
  },
];

export const ANSWERS: Mutant[] = [
  {
    name: 'ignores chunks',
    edits: [['if (chunk) putChunk(draft, w, chunk);', '']],
    fails: ['answer', 'two-answers'],
  },
  {
    name: 'ignores the offset of a chunk',
    edits: [['const start = part.offset ?? (', 'const start = (']],
    fails: ['retracted-text'],
  },
  {
    name: 'appends over a hole',
    edits: [['start > text.length ?', 'false ?']],
    fails: ['missing-chunk'],
  },
  {
    name: 'appends each chunk that arrives',
    edits: [
      ['if (chunk_seq <= last) return;', ''],
      ['text.slice(0, start) + part.chunk', 'text + part.chunk'],
    ],
    fails: ['repeated-chunk'],
  },
  {
    name: 'mixes the generations of a text',
    edits: [['known.generation === generation ? [known.text', 'true ? [known.text']],
    fails: ['higher-generation'],
  },
  {
    name: 'counts the offset in characters',
    edits: [['text.slice(0, start)', "[...text].slice(0, start).join('')"]],
    fails: ['utf-16-offsets'],
  },
  {
    name: 'shows a late chunk in place of the final text',
    edits: [
      ["(content && content.type !== 'loading') ||", ''],
      ["text: streaming ? (stream?.text ?? '')", 'text: stream ? stream.text'],
    ],
    fails: ['done-before-last-chunk'],
  },
  {
    name: 'ignores the chunks of an unknown message',
    edits: [["(content && content.type !== 'loading')", "content?.type !== 'loading'"]],
    fails: ['chunk-before-message'],
  },
  {
    name: 'lets deleted messages come back',
    edits: [['draft.set(`${w}/~gone/${messageId}`, true);', '']],
    fails: ['deleted-before-last-chunk'],
  },
  {
    name: 'does not know cards',
    edits: [['if (message) putMessage(', "if (message && message.content.type !== 'action_card') putMessage("]],
    fails: ['answer-becomes-card', 'card-chosen-on-another-device'],
  },
  {
    name: 'ignores the state of workspace.subscribed',
    edits: [['if (live) restore(', 'if (false) restore(']],
    fails: ['cut-in-a-chunk', 'restart-in-mid-answer'],
  },
  {
    name: 'adds messages, but does not change them',
    edits: [['if (message) putMessage(', "if (message && name === 'message.new') putMessage("]],
    fails: ['failed-answer', 'update-before-creation'],
  },
];
