import { ACTION_CARD_TOOL } from '@uswarm/contract/agent-tools';
import { SILENT_TOOL } from '../../tools/built-in-tools.js';
import { answer, call, type DemoMove, failure, inTurn, LABEL, type Scene } from './demo-scene.js';
import { afterCard, CARD } from './demo-card.js';
import { LONG_ANSWER } from './demo-long-answer.js';
import type { ReadResult, Situation } from './demo-situation.js';

const DRAFT = '# Tea party\n\n- Invite the guests\n- Buy green tea\n';
const REVISION = `${DRAFT}- Boil water\n\n| guest | tea |\n| --- | --- |\n| Ada | green |\n| Alan | black |\n`;
const NO_ARTIFACT = '00000000-0000-4000-8000-000000000000';
const MAX_KEY = 60;

const idIn = (results: readonly ReadResult[]): string =>
  /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/.exec(results[0]?.text ?? '')?.[0] ?? NO_ARTIFACT;

/** The words without "that", "about" and the like in front of them. */
const bare = (text: string): string => text.trim().replace(/^(?:that|about|of)\s+/i, '');

/** A short name for a fact, such as "favourite tea" for "my favourite tea is Darjeeling". */
function keyOf(fact: string): string {
  const subject = /^(?:my|our|the|i)\s+(.+?)\s+(?:is|are|was|were)\b/i.exec(fact)?.[1] ?? fact;
  const words = subject.replace(/^(?:my|our|the)\s+/i, '').split(/\s+/);
  return words.slice(0, 5).join(' ').slice(0, MAX_KEY).toWellFormed();
}

function recall({ memories, offered, results }: Situation, topic: string): DemoMove {
  const [result] = results;
  if (result !== undefined) return result.failed ? failure(result) : answer(`I remember:\n\n${result.text}`);
  if (topic !== '')
    return offered.includes('recall') ? call('recall', { query: topic }) : answer('recall is not available.');
  if (memories.length > 0) return answer(`I remember:\n\n${memories.join('\n')}`);
  return answer('No memory fits this conversation. Ask “what do you remember about …” to search all of them.');
}

const APPROVED = /^The user approved this call\b/m;
const DECIDED = /^The user (?:denied|did not approve|sent another|approved this call, but)|^The user has turned/m;

/** Calls that ask if the user has not allowed them, with the entry that switches each tool. */
const ASKING: readonly { tool: string; entry: string; input: Record<string, unknown> }[] = [
  {
    tool: 'create_mail_draft',
    entry: 'gmail',
    input: {
      to: ['ada@example.com'],
      subject: `${LABEL} A draft`,
      body: 'This draft is an example of a call that needs an approval.',
    },
  },
  {
    tool: 'create_calendar_event',
    entry: 'google_calendar',
    input: { title: `${LABEL} An event`, start: '2030-01-07T10:00:00Z', end: '2030-01-07T11:00:00Z' },
  },
  {
    tool: 'remember',
    entry: 'memories',
    input: { key: 'demo approval', content: 'The user has tried an approval.', category: 'general' },
  },
  { tool: 'create_artifact', entry: 'artifacts', input: { title: `${LABEL} Tea party`, content: DRAFT } },
];

function approval({ offered, results }: Situation): DemoMove {
  const asking = ASKING.find(({ tool }) => offered.includes(tool));
  if (asking === undefined)
    return answer(`No tool that can ask is available to this agent. Enable its tool “memories” and set it to “ask”.`);
  const [result, ...later] = results;
  if (result === undefined) return call(asking.tool, asking.input);
  if (APPROVED.test(result.text)) return answer(`You approved the call. Its result: ${result.text}`);
  if (DECIDED.test(result.text)) return answer(`The call did not run: ${result.text}`);
  if (result.failed) return failure(result);
  const isSaved = asking.tool === 'remember' && later.length === 0;
  if (isSaved && offered.includes('forget')) return call('forget', { key: asking.input['key'] });
  return answer(
    `${asking.tool} ran without asking, because the tool “${asking.entry}” of this agent is set to “allow”. ` +
      `Set it to “ask” with PATCH /v1/agents/{id}/tools/${asking.entry} {"permission": "ask"} and try again.`,
  );
}

/** Single-agent scenes, in list order. */
export const CONTENT_SCENES: readonly Scene[] = [
  {
    request: 'show me a long answer',
    shows: 'streamed Markdown with headings, lists, a table and code',
    words: /^(?:show|give) (?:me )?(?:a long (?:answer|reply|text)|markdown)$/i,
    play: () => answer(LONG_ANSWER),
  },
  {
    request: 'show me an artifact',
    shows: 'a document that is created, revised and finished',
    words: /^(?:show|give|write|create) (?:me )?(?:an? )?(?:artifact|document)$/i,
    tools: ['create_artifact', 'revise_artifact', 'finish_artifact'],
    play: ({ results }) =>
      inTurn(
        results,
        [
          () => ({ tool: 'create_artifact', input: { title: 'Tea party', content: DRAFT } }),
          (done) => ({
            tool: 'revise_artifact',
            input: { artifact_id: idIn(done), expected_version: 1, content: REVISION },
          }),
          (done) => ({ tool: 'finish_artifact', input: { artifact_id: idIn(done) } }),
        ],
        () => answer('The document is final, in version 2.'),
      ),
  },
  {
    request: 'show me a file',
    shows: 'a PDF that can be downloaded',
    words: /^(?:show|give|write|create) (?:me )?(?:an? )?(?:file|pdf)$/i,
    tools: ['create_file'],
    play: ({ results }) =>
      inTurn(
        results,
        [() => ({ tool: 'create_file', input: { name: 'Tea party', type: 'pdf', content: REVISION } })],
        () => answer('The file is above.'),
      ),
  },
  {
    request: 'show me a card',
    shows: 'an action card with three options',
    words: /^(?:show|give) (?:me )?(?:an? )?(?:action[ _-])?card$/i,
    tools: [ACTION_CARD_TOOL],
    play: ({ results: [result] }) => (result === undefined ? call(ACTION_CARD_TOOL, CARD) : afterCard(result)),
  },
  {
    request: 'show me an approval',
    shows: 'a tool call that waits for your decision',
    words: /^(?:show|give) (?:me )?an approval$/i,
    play: approval,
  },
  {
    request: 'remember that my favourite tea is Darjeeling',
    shows: 'a memory that is saved',
    words: /^remember\s+(.+)$/is,
    tools: ['remember'],
    play({ results }, [, fact = '']) {
      const content = bare(fact);
      const input = { key: keyOf(content), content, category: 'general' };
      return inTurn(results, [() => ({ tool: 'remember', input })], ([saved]) => answer(saved?.text ?? ''));
    },
  },
  {
    request: 'what do you remember about tea?',
    shows: 'memories that are recalled',
    words: /^what (?:do|can) you remember(?:\s+(.+))?$/is,
    play: (situation, [, topic = '']) => recall(situation, bare(topic)),
  },
  {
    request: 'forget my favourite tea',
    shows: 'a memory that is deleted',
    words: /^forget\s+(.+)$/is,
    tools: ['forget'],
    play: ({ results }, [, fact = '']) =>
      inTurn(results, [() => ({ tool: 'forget', input: { key: keyOf(bare(fact)) } })], ([deleted]) =>
        answer(deleted?.text ?? ''),
      ),
  },
  {
    request: 'show me a failed tool call',
    shows: 'a tool call that fails, and the reply after it',
    words: /^(?:show|give) (?:me )?a fail(?:ed|ing) (?:tool(?: call)?|call)$/i,
    tools: ['read_artifact'],
    play: ({ results: [result] }) =>
      result === undefined ? call('read_artifact', { artifact_id: NO_ARTIFACT }) : failure(result),
  },
  {
    request: 'show me a failure',
    shows: 'a reply that fails and can be repeated',
    words: /^(?:show|give) (?:me )?a (?:failure|failed reply|fail(?:ed|ing) answer)$/i,
    // The runtime reports two empty answers as an unavailable model.
    play: () => ({ answer: '' }),
  },
  {
    request: 'show me a refusal',
    shows: 'a reply that fails because the model declines',
    words: /^(?:show|give) (?:me )?a refusal$/i,
    play: () => ({ answer: '', end: 'refused' }),
  },
  {
    request: 'show me an incomplete answer',
    shows: 'a reply that ends at the length limit',
    words: /^(?:show|give) (?:me )?an incomplete (?:answer|reply)$/i,
    play: ({ said }) => ({
      answer: said === '' ? `${LABEL} This answer reaches the length limit of the ` : 'model, and ends before ',
      end: 'length',
    }),
  },
  {
    request: 'stay silent',
    shows: 'a turn without a reply',
    words: /^(?:stay|be|keep) silent$/i,
    tools: [SILENT_TOOL],
    play: () => call(SILENT_TOOL, {}),
  },
];
