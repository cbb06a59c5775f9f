import { describe, expect, it } from '@jest/globals';
import type { PromptMessage } from '../models/port.js';
import type { ListedTool } from './define-tool.js';
import { createFindTools, FIND_TOOLS } from './find-tools.js';
import { loadedIn } from './more-tools.js';

const tool = (name: string, description: string): ListedTool => ({
  definition: { type: 'function', name, description, inputSchema: { type: 'object' } },
  hint: description,
});
const TOOLS = [
  tool('github__create_issue', 'Opens an issue in a repository.'),
  tool('github__list_issues', 'Lists issues of a repository.'),
  tool('github__mergePullRequest', 'Merges a branch.'),
  tool('notion__search', 'Finds pages.'),
  ...Array.from({ length: 20 }, (_, index) => tool(`notion__page_${index}`, `Reads page ${index}.`)),
];

describe('find_tools', () => {
  const find = createFindTools(TOOLS);

  it('tells how many tools each server has', () => {
    expect(find.definition.description).toContain('There are: github (3), notion (21).');
  });

  it.each([
    ['create an issue', 'github__create_issue'],
    ['issue creat', 'github__create_issue'],
    ['merge pull request', 'github__mergePullRequest'],
    ['serch pages', 'notion__search'],
    ['branches', 'github__mergePullRequest'],
  ])('finds by %j %s first', (query, name) => {
    expect(find.found(query)[0]).toBe(name);
  });

  it('loads at most eight tools, and names them with a few words', () => {
    expect(find.found('page')).toHaveLength(8);
    expect(find.run({ query: 'open an issue' }).text).toMatch(/^Loaded:\n- github__create_issue: Opens an issue/);
  });

  it('names the servers if no tool matches', () => {
    expect(find.run({ query: 'zzzzzz' })).toEqual({
      text: 'No tool matches. There are: github (3), notion (21).',
      failed: true,
    });
  });

  it('offers what was found in the next step, also after a restart', () => {
    const turn: PromptMessage[] = [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: FIND_TOOLS, input: { query: 'merge' } }],
      },
    ];
    expect(loadedIn(turn, TOOLS, find).map(({ name }) => name)).toEqual(['github__mergePullRequest']);
    expect(loadedIn(turn, TOOLS, createFindTools(TOOLS))).toHaveLength(1);
  });
});
