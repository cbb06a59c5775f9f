import { describe, expect, it } from '@jest/globals';
import type { PromptMessage } from '../models/port.js';
import type { ListedTool } from './define-tool.js';
import { createMoreTools, listedNames, loadedIn, MORE_TOOLS } from './more-tools.js';

const tool = (name: string): ListedTool => ({
  definition: { type: 'function', name, description: '', inputSchema: { type: 'object' } },
  hint: `use ${name}: at times`,
});
const LISTED = [tool('create_file'), tool('start_workflow')];

const called = (toolName: string, input: unknown): PromptMessage => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: 'c', toolName, input }],
});
const loaded = (...turn: PromptMessage[]) => loadedIn(turn, LISTED).map(({ name }) => name);

describe('more_tools', () => {
  const more = createMoreTools(LISTED);

  it('lists each tool with its hint', () => {
    expect(more.definition.description).toContain('- create_file: use create_file: at times\n- start_workflow: ');
    expect(listedNames(more.definition.description ?? '')).toEqual(['create_file', 'start_workflow']);
  });

  it('confirms the tools that it loads, and names the others', () => {
    expect(more.run({ names: ['create_file'] })).toEqual({ text: 'Loaded: create_file.', failed: false });
    const { text, failed } = more.run({ names: ['create_file', 'fly'] });
    expect({ text, failed }).toEqual({ text: expect.stringMatching(/unknown: fly\. .*\n- create_file/), failed: true });
  });

  it.each([
    ['nothing before the first call', []],
    ['a tool that was loaded', [called(MORE_TOOLS, { names: [' create_file'] })], 'create_file'],
    ['a tool that was called immediately', [called('start_workflow', {})], 'start_workflow'],
    ['nothing for other calls', [called('web_search_tool', { query: 'create_file' })]],
    ['nothing for arguments of another form', [called(MORE_TOOLS, 'create_file'), called(MORE_TOOLS, { names: 'x' })]],
  ] satisfies [string, PromptMessage[], ...string[]][])('offers %s', (_, turn, ...expected) => {
    expect(loaded(...turn)).toEqual(expected);
  });
});
