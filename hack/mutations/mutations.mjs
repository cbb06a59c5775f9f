const WRITER = 'services/orchestrator/src/turns/writer/turn-writer.ts';
const FENCE = 'services/orchestrator/src/turns/commit.ts';
const REQUESTS = 'services/orchestrator/src/turns/reply/tool-requests.ts';
const SEND = 'services/orchestrator/src/turns/tools/send-call.ts';
const CARD = 'services/orchestrator/src/records/approval-card.ts';

const TOOL_REQUESTS = 'services/orchestrator/src/turns/reply/tool-requests.test.ts';
const UNTRUSTED = 'services/orchestrator/src/turns/reply/untrusted-calls.test.ts';
const SEND_CALL = 'services/orchestrator/src/turns/tools/send-call.test.ts';

/**
 * Code changes that break a promise about tool calls. `from` occurs once in `file`; each test must fail.
 *
 * @typedef {{ name: string, file: string, from: string, to: string, tests: { file: string, name: string }[] }} Mutation
 * @type {Mutation[]}
 */
export const MUTATIONS = [
  {
    name: 'a barrier does not wait',
    file: 'services/agent-runtime/src/agent/journal.ts',
    from: 'if (barrier) await committed();',
    to: '',
    tests: [
      {
        file: 'services/agent-runtime/src/agent/requested-tools.test.ts',
        name: 'invariant 4: is requested when its step is committed, and the model is called again when the result is',
      },
    ],
  },
  {
    name: 'a commit releases every barrier',
    file: 'services/agent-runtime/src/turns/commits.ts',
    from: 'waiters.until(() => committed >= number, signal)',
    to: 'waiters.until(() => committed >= 0, signal)',
    tests: [
      {
        file: 'services/agent-runtime/src/turns/turn-registry.test.ts',
        name: 'invariant 4: waits at a barrier until its event is committed, by Advance or by a request that re-attaches',
      },
    ],
  },
  {
    name: 'an entry is acknowledged before it is stored',
    file: 'services/orchestrator/src/turns/stream.ts',
    from: 'await reply.flush();',
    to: '',
    tests: [
      {
        file: 'services/orchestrator/src/turns/stream.test.ts',
        name: 'invariant 4: acknowledges an event, with the outcomes of calls, after everything before it is stored',
      },
    ],
  },
  {
    name: 'an approval is valid for all arguments',
    file: REQUESTS,
    from: 'stored.approval?.argumentsHash.equals(callHash(name, parsed.input)) === false',
    to: 'false',
    tests: [
      {
        file: TOOL_REQUESTS,
        name: 'invariant 5: ends the turn if the runtime changes the arguments after the card was shown',
      },
    ],
  },
  {
    name: 'the hash ignores the arguments',
    file: CARD,
    from: '.update(canonicalJson([tool, input]))',
    to: '.update(canonicalJson([tool]))',
    tests: [
      {
        file: 'services/orchestrator/src/records/approval-card.test.ts',
        name: 'invariant 5: the hash of a call is the same for equal arguments in any order, and differs for others',
      },
    ],
  },
  {
    name: 'a call needs no approval',
    file: REQUESTS,
    from: "if (verdict === 'execute') {",
    to: "if (verdict === 'execute' || (typeof verdict === 'object' && 'ask' in verdict)) {",
    tests: [
      {
        file: TOOL_REQUESTS,
        name: 'invariant 5: shows a card with the arguments and ends the reply, without an effect',
      },
      {
        file: TOOL_REQUESTS,
        name: 'invariant 5: has no effect, although its app is unavailable then, if it is denied',
      },
    ],
  },
  {
    name: 'a request leaves before it is stored as sent',
    file: SEND,
    from: 'await deps.markSent(',
    to: 'void (',
    tests: [
      {
        file: SEND_CALL,
        name: 'invariant 4: is executed at most once with the effect `once`, and its receipt never claims more than happened',
      },
      { file: SEND_CALL, name: 'invariant 4: is always sent with one key with the effect `keyed`' },
    ],
  },
  {
    name: 'a call without an answer is sent again',
    file: SEND,
    from: 'const answered = isNew ? await',
    to: 'const answered = true ? await',
    tests: [
      {
        file: SEND_CALL,
        name: 'invariant 4: is executed at most once with the effect `once`, and its receipt never claims more than happened',
      },
    ],
  },
  {
    name: 'a repeated call gets another key',
    file: SEND,
    from: 'const key = stored?.key ?? (await begin());',
    to: 'const key = await begin();',
    tests: [{ file: SEND_CALL, name: 'invariant 4: is always sent with one key with the effect `keyed`' }],
  },
  {
    name: 'an outcome is not stored',
    file: WRITER,
    from: 'await deps.toolCalls.insertToolCall(tx, turn.id, { id, tool }, outcome);',
    to: '',
    tests: [
      {
        file: 'services/orchestrator/src/turns/writer/stored-calls.test.ts',
        name: 'invariant 4: is executed once, and has the same outcome when it is repeated',
      },
    ],
  },
  {
    name: 'a process without the lease writes',
    file: FENCE,
    from: "if (!(await jobs[ends ? 'end' : 'holds'](job, tx, usage ? usageLock : undefined))) throw new LeaseLost();",
    to: "await jobs[ends ? 'end' : 'holds'](job, tx, usage ? usageLock : undefined);",
    tests: [
      {
        file: 'services/orchestrator/src/turns/commit.test.ts',
        name: 'invariant 4: are not committed after another process has taken over the lease',
      },
    ],
  },
  {
    name: 'untrusted content changes no permission',
    file: REQUESTS,
    from: "return sources.length > 0 ? { ask: sources, permission } : 'execute';",
    to: "return 'execute';",
    tests: [
      { file: UNTRUSTED, name: 'invariant 11: asks after the agent has read a web page, and states why: send' },
      { file: UNTRUSTED, name: 'asks after the agent has read a mail' },
    ],
  },
  {
    name: 'a runtime can call tools without a trace',
    file: 'services/orchestrator/src/turns/request/load-turn-request.ts',
    from: 'await deps.toolTokens(tokenTurn(turn));',
    to: "await deps.toolTokens(tokenTurn(turn), '');",
    tests: [
      {
        file: 'services/orchestrator/src/turns/request/load-turn-request.test.ts',
        name: 'has tokens for the workspace, agent and turn, with which tools can be listed, and new ones each time',
      },
    ],
  },
  {
    name: 'a query can have text of the user',
    file: 'services/orchestrator/src/turns/reply/announced-calls.ts',
    from: '(await rules.sharesPrivateText(place, query))',
    to: 'false',
    tests: [
      {
        file: UNTRUSTED,
        name: 'invariant 11: is not sent for a query with text of a memory after the agent has read content from others',
      },
    ],
  },
  {
    name: 'images of other hosts are loaded',
    file: 'services/orchestrator/src/turns/content/safe-markdown.ts',
    from: "output: '! ['",
    to: "output: '!['",
    tests: [
      {
        file: 'services/orchestrator/src/turns/content/safe-markdown.test.ts',
        name: 'invariant 11: loads no image of another host, and hides no host',
      },
    ],
  },
  {
    name: 'the words of a model look like the card',
    file: CARD,
    from: "value.replaceAll('\\n', '\\n  ')",
    to: 'value',
    tests: [
      {
        file: 'services/orchestrator/src/records/approval-card.test.ts',
        name: 'a value cannot look like another change',
      },
    ],
  },
];

/** @returns the source with the change @throws Error unless the text occurs once */
export function mutate(source, { name, file, from, to }) {
  if (source.split(from).length !== 2)
    throw new Error(`${file} does not contain this text once, for “${name}”: ${from}`);
  return source.replace(from, () => to);
}
