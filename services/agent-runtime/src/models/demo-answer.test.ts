import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { demoMove, readSearchOutcome, topicOf } from './demo-answer.js';
import type { ModelMessage, ToolDefinition } from './model.js';

const search: ToolDefinition = { name: 'web_search_tool', description: '', inputSchema: {} };
const asked = (text: string): ModelMessage => ({ role: 'user', text });
const found = (text: string, failed = false): ModelMessage => ({
  role: 'tool',
  callId: 'c',
  name: search.name,
  text: `<untrusted>${text}</untrusted>`,
  data: text,
  failed,
});
const answerTo = (messages: ModelMessage[], tools = [search]): string => {
  const move = demoMove({ messages, tools });
  return 'answer' in move ? move.answer : `searches for ${String(move.input['query'])}`;
};

describe('the demo model', () => {
  it.each([
    ['Search the web for the height of Mont Blanc and answer with sources', 'the height of Mont Blanc'],
    ['Search the web for tidal power and answer with sources.', 'tidal power'],
    ['@researcher please search for llamas', 'llamas'],
    ['look up the capital of Peru', 'the capital of Peru'],
    ['Find sources about bees, then reply with the sources', 'bees'],
    ['Which web framework is oldest?', 'Which web framework is oldest?'],
    ['search', 'search'],
  ])('searches for what %j is about', (text, topic) => {
    expect(topicOf(text)).toBe(topic);
    expect(answerTo([asked(text)])).toBe(`searches for ${topic}`);
  });

  it('returns any other question whole, and says what it is and how to get a real model', () => {
    fc.assert(
      fc.property(fc.uuid(), (nonce) => {
        const answer = answerTo([asked(`What is ${nonce}?\nSecond line`)]);
        expect(answer).toMatch(/^\[demo\] /);
        expect(answer).toContain(`What is ${nonce}?\nSecond line`);
        for (const setting of ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_MODEL']) expect(answer).toContain(setting);
      }),
    );
  });

  it('lists the sources exactly as the tool gave them', () => {
    const results = [
      { title: 'First "quoted"', url: 'https://a.example/?q=1&b=2#c', snippet: 's', engine: 'e' },
      { title: 'Second', url: 'https://b.example/%C3%A9', snippet: '', engine: 'e' },
    ];
    const answer = answerTo([asked('search for x'), found(JSON.stringify({ results }))]);
    expect(answer).toContain(
      '1. First "quoted" - https://a.example/?q=1&b=2#c\n2. Second - https://b.example/%C3%A9\n',
    );
    expect(answer).toMatch(/^\[demo\] /);
  });

  it('passes on why a search failed', () => {
    const sentence = 'web_search_tool: searxng endpoint is not configured';
    expect(answerTo([asked('search for x'), found(sentence, true)])).toBe(`[demo] The search failed: ${sentence}`);
  });

  it('passes on what the tool said when it found nothing', () => {
    const answer = (outcome: unknown): string => answerTo([asked('search for x'), found(JSON.stringify(outcome))]);
    expect(answer({ status: 'empty', results: [], notes: ['No engine found anything.'] })).toBe(
      '[demo] The search found nothing. The tool says: No engine found anything.',
    );
    expect(answer({ status: 'upstream_failed', results: [], notes: ['No engine answered.'] })).toBe(
      '[demo] The search failed: No engine answered.',
    );
    expect(answer({ results: [] })).toBe('[demo] The search found nothing. The tool says: {"results":[]}');
  });

  it('says so when it is to search and has no tool for it', () => {
    expect(answerTo([asked('search for x')], [])).toContain('web_search_tool is not available to this agent');
  });

  it('answers a new question after an earlier search', () => {
    expect(answerTo([asked('search for x'), found('{"results":[]}'), asked('and you?')])).toContain(
      'You asked: and you?',
    );
  });

  describe('asked for options', () => {
    const cardTool: ToolDefinition = { name: 'action_card_tool', description: '', inputSchema: {} };

    it.each(['Give me some options', 'What are my choices?', 'Show an action card', 'offer an action_card'])(
      'offers a card: %s',
      (question) => {
        expect(demoMove({ messages: [asked(question)], tools: [search, cardTool] })).toMatchObject({
          tool: 'action_card_tool',
          input: { title: expect.any(String), actions: [{}, {}, {}] },
        });
      },
    );

    it('waits for the choice, and then goes on', () => {
      const shown: ModelMessage = {
        role: 'tool',
        callId: 'c',
        name: 'action_card_tool',
        text: 'Shown.',
        data: 'Shown.',
        failed: false,
      };
      expect(answerTo([asked('options'), shown], [cardTool])).toBe('[demo] Please choose.');
      expect(answerTo([asked('options'), shown, asked('Continue')], [cardTool])).toContain('You asked: Continue');
    });

    it('answers where it has no cards', () => {
      expect(answerTo([asked('Give me some options')])).toContain('You asked: Give me some options');
    });
  });

  it('finds no sources in what is not a search result', () => {
    for (const text of [
      'no json',
      '[]',
      'null',
      '7',
      '{"results":{},"notes":3}',
      '{"results":[{"title":1}],"notes":[4]}',
    ]) {
      expect(readSearchOutcome(text)).toEqual({ failed: false, sources: [], notes: [] });
    }
  });
});
