import { describe, expect, it } from '@jest/globals';
import type { Tool } from '@uswarm/mcp-client';
import { definitionHash, offeredName, readTools, type ToolDefinition } from './tool-definition.js';

const tool = (name: string, more: object = {}): Tool => ({ name, inputSchema: { type: 'object' }, ...more });
const problems = (...tools: Tool[]) =>
  readTools('tracker', tools).flatMap((read) => ('problem' in read ? [`${read.name}: ${read.problem}`] : []));

describe('the tools that a server lists', () => {
  it.each([
    ['create_issue', 'tracker__create_issue'],
    ['issues.create', 'tracker__issues_create'],
    ['issues/create-all', 'tracker__issues_create-all'],
  ])('offer %j as %j', (name, offered) => {
    expect(problems(tool(name))).toEqual([]);
    expect(offeredName('tracker', name)).toBe(offered);
  });

  it.each([
    ['a Cyrillic letter', 'crеate_issue', 'its name has characters that are not allowed'],
    ['an invisible character', 'create\u200B_issue', 'its name has characters that are not allowed'],
    ['a space', 'create issue', 'its name has characters that are not allowed'],
    ['more characters than providers accept', 'a'.repeat(60), 'its name is too long'],
  ])('are refused for %s in the name', (_, name, problem) => {
    expect(problems(tool(name))).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ['create_issue', 'create_lssue'],
    ['create_issue', 'Create_Issue'],
    ['create_issue', 'create.issue'],
    ['download', 'd0wnload'],
    ['commit', 'cornrnit'],
  ])('are refused if they look like another one: %s and %s', (one, other) => {
    const problem = 'another tool has a name that looks the same';
    expect(problems(tool(one), tool(other), tool('list'))).toEqual([`${one}: ${problem}`, `${other}: ${problem}`]);
  });

  it('include those that cannot be read, with the reason', () => {
    const unusable = [{ name: 'o\u200Bdd', problem: 'it has no schema for its arguments' }];
    expect(readTools('tracker', [tool('list')], unusable)).toEqual([
      expect.objectContaining({ name: 'list' }),
      { name: 'odd', problem: 'it has no schema for its arguments' },
    ]);
  });

  it('have no characters that hide or reorder text in descriptions and schemas', () => {
    const inputSchema = {
      type: 'object',
      properties: { text: { type: 'string', description: 'A\u202Eb\u200Bc' } },
    } as const;
    const [read] = readTools('tracker', [tool('say', { description: 'Says\u200B it.\u{E0041}', inputSchema })]);
    expect(read).toMatchObject({
      description: 'Says it.',
      inputSchema: { properties: { text: { description: 'Abc' } } },
    });
  });

  it('are refused for invisible characters in the name of an argument, and for large or deep schemas', () => {
    const hidden = { type: 'object', properties: { 'te\u200Bxt': {} } };
    const large = { type: 'object', description: 'x'.repeat(17_000) };
    let deep: object = {};
    for (let depth = 0; depth < 30; depth += 1) deep = { items: deep };
    const listed = [hidden, large, { type: 'object', ...deep }].map((inputSchema, index) =>
      tool(`t${index}x`, { inputSchema }),
    );
    expect(problems(...listed)).toEqual([
      't0x: its schema has a name with invisible characters',
      't1x: its schema has more than 16384 bytes',
      't2x: its schema is nested too deeply',
    ]);
  });

  it('have the same hash if only the order of their fields differs, and another one for any change', () => {
    const of = (more: object) =>
      definitionHash(readTools('tracker', [tool('say', more)])[0] as ToolDefinition).toString('hex');
    const schema = (first: string, second: string) => ({
      inputSchema: { type: 'object', properties: { [first]: { type: 'string' }, [second]: { type: 'string' } } },
    });
    expect(of(schema('a', 'b'))).toBe(of(schema('b', 'a')));
    const others = [
      {},
      { description: 'x' },
      { annotations: { readOnlyHint: true } },
      schema('a', 'b'),
      schema('a', 'c'),
    ];
    expect(new Set(others.map(of)).size).toBe(others.length);
  });
});
