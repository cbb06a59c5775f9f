import { describe, expect, it } from '@jest/globals';
import { Outcome } from '@uswarm/runtime-proto';
import { demoTurn, type RequestedCall } from '../../../test/demo-turn.js';

const ARTIFACT = '0192d3a4-0000-7000-8000-0000000000ab';
const ARTIFACTS = ['create_artifact', 'revise_artifact', 'finish_artifact', 'read_artifact'];

function artifacts({ tool }: RequestedCall): { text: string; failed?: boolean } {
  if (tool === 'create_artifact') return { text: `Created artifact ${ARTIFACT}, version 1, a draft.` };
  if (tool === 'read_artifact') return { text: 'There is no artifact.', failed: true };
  return { text: 'Saved.' };
}

describe('a turn of the demo model', () => {
  it('creates, revises and finishes one artifact', async () => {
    const { done, requests } = await demoTurn('Show me an artifact!', { tools: ARTIFACTS, outcome: artifacts });
    expect(requests).toEqual([
      { tool: 'create_artifact', input: { title: 'Tea party', content: expect.any(String) } },
      {
        tool: 'revise_artifact',
        input: { artifact_id: ARTIFACT, expected_version: 1, content: expect.any(String) },
      },
      { tool: 'finish_artifact', input: { artifact_id: ARTIFACT } },
    ]);
    expect(requests[0]?.input['content']).not.toBe(requests[1]?.input['content']);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: expect.stringContaining('version 2') });
  });

  it('ends the scene after a call that fails', async () => {
    const outcome = () => ({ text: 'There are 1000 artifacts already.', failed: true });
    const { done, requests } = await demoTurn('show me an artifact', { tools: ARTIFACTS, outcome });
    expect(requests).toHaveLength(1);
    expect(done.text).toBe('[demo] create_artifact failed: There are 1000 artifacts already.');
  });

  it('shows a card that is valid for the card tool', async () => {
    const { done, shown } = await demoTurn('Please show me a card', { tools: [] });
    expect(shown).toMatchObject([{ type: 'action_card', actions: [{}, {}, {}] }]);
    expect(done.text).toBe('[demo] Please choose.');
  });

  it.each([
    ['show me a failure', Outcome.FAILED, 'model_unavailable', ''],
    ['show me a refusal', Outcome.FAILED, 'model_refused', ''],
    ['show me an incomplete answer', Outcome.INCOMPLETE, 'output_limit_reached', '[demo] This answer'],
  ])('ends with an error: %s', async (request, outcome, errorCode, text) => {
    const { done } = await demoTurn(request, { tools: [] });
    expect(done).toMatchObject({ outcome, errorCode });
    expect(done.text.startsWith(text)).toBe(true);
    expect(done.text === '').toBe(text === '');
  });

  it('reports a tool call that failed', async () => {
    const { done, requests } = await demoTurn('show me a failed tool call', { tools: ARTIFACTS, outcome: artifacts });
    expect(requests.map(({ tool }) => tool)).toEqual(['read_artifact']);
    expect(done).toMatchObject({
      outcome: Outcome.COMPLETED,
      text: '[demo] read_artifact failed: There is no artifact.',
    });
  });

  it('stays silent', async () => {
    const { done } = await demoTurn('Stay silent.', { tools: [] });
    expect(done).toMatchObject({ outcome: Outcome.SILENT, text: '' });
  });

  it('gives tasks to three agents in one step, and reports their results', async () => {
    const outcome = ({ input }: RequestedCall) =>
      input['agent'] === 'analyst' ? { text: 'The task failed.', failed: true } : { text: `From ${input['agent']}.` };
    const { done, requests } = await demoTurn('Delegate to three agents', { tools: ['delegate'], outcome });
    expect(requests.map(({ input }) => input['agent'])).toEqual(['researcher', 'analyst', 'writer']);
    expect(done.text).toBe(
      '[demo] The results of my delegations:\n\n- @researcher reports: From researcher.\n' +
        '- @analyst failed: The task failed.\n- @writer reports: From writer.',
    );
  });

  it('saves, recalls and forgets a memory under the same name', async () => {
    const tools = ['remember', 'recall', 'forget'];
    const said = [
      'Remember that my favourite tea is Darjeeling.',
      'What do you remember about tea?',
      'Forget my favourite tea',
    ];
    const turns = await Promise.all(said.map((text) => demoTurn(text, { tools })));
    expect(turns.flatMap(({ requests }) => requests)).toEqual([
      {
        tool: 'remember',
        input: { key: 'favourite tea', content: 'my favourite tea is Darjeeling', category: 'general' },
      },
      { tool: 'recall', input: { query: 'tea' } },
      { tool: 'forget', input: { key: 'favourite tea' } },
    ]);
  });

  it('streams a long answer with Markdown of every kind', async () => {
    const { done } = await demoTurn('show me a long answer', { tools: [] });
    expect(done.text.split(/\s+/).length).toBeGreaterThan(500);
    for (const mark of [/^# /m, /^## /m, /^- /m, /^\| --- /m, /^```ts$/m, /^> /m, /\*\*/])
      expect(done.text).toMatch(mark);
  });
});
