import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LIMITS } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadAgentTemplates } from './agent-templates.js';

const agent = (slug: string, more: object = {}) => ({
  slug,
  name: slug,
  role: '',
  kind: 'sub-agent',
  description: '',
  skills: [],
  ...more,
});
const MANAGER = agent('boss', { kind: 'manager' });

describe("the agents of the service's new workspaces", () => {
  it('are a manager and four specialists', () => {
    expect(loadAgentTemplates().map(({ slug }) => slug)).toEqual([
      'manager',
      'researcher',
      'analyst',
      'writer',
      'coder',
    ]);
  });
});

describe("an operator's agents of new workspaces", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'agents-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function load(content: unknown) {
    const file = path.join(folder, 'agents.json');
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return loadAgentTemplates(file);
  }

  it('begin with the manager, and keep their order otherwise', () => {
    const agents = load([agent('b'), MANAGER, agent('a', { model: 'opus', avatar_url: null })]);
    expect(agents.map(({ slug }) => slug)).toEqual(['boss', 'b', 'a']);
    expect(agents[2]).toMatchObject({ model: 'opus' });
  });

  it.each([
    ['no manager', [agent('a')], 'AGENTS_FILE: exactly one agent must have the kind manager, not 0'],
    [
      'two managers',
      [MANAGER, { ...MANAGER, slug: 'b' }],
      'AGENTS_FILE: exactly one agent must have the kind manager, not 2',
    ],
    ['a slug twice', [MANAGER, agent('a'), agent('a')], 'AGENTS_FILE: 2.slug: a is used twice'],
    [
      'too many agents',
      [MANAGER, ...Array.from({ length: LIMITS.subAgents + 1 }, (_, index) => agent(`a${index}`))],
      'AGENTS_FILE: at most 12 agents besides the manager, not 13',
    ],
    ['a slug with a space', [MANAGER, agent('Tax adviser')], /^AGENTS_FILE: 1\.slug: must be lower-case letters/],
    ['an unknown skill', [MANAGER, agent('a', { skills: ['cooking'] })], /^AGENTS_FILE: 1\.skills\.0: Invalid option/],
    ['an unknown model', [MANAGER, agent('a', { model: 'gpt' })], /^AGENTS_FILE: 1\.model: Invalid option/],
    ['a misspelled field', [MANAGER, agent('a', { skill: [] })], /^AGENTS_FILE: 1: Unrecognized key: "skill"/],
    ['no name', [MANAGER, agent('a', { name: ' ' })], /^AGENTS_FILE: 1\.name: /],
    [
      'an unknown tool',
      [MANAGER, agent('a', { tools: [{ name: 'none', permission: 'deny' }] })],
      /^AGENTS_FILE: 1\.tools\.0: none is unknown; there are web_search_tool, /,
    ],
    [
      'a tool of managers',
      [MANAGER, agent('a', { tools: [{ name: 'agents', permission: 'allow' }] })],
      'AGENTS_FILE: 1.tools.0: agents is only for the manager',
    ],
    [
      'a reading tool that asks',
      [MANAGER, agent('a', { tools: [{ name: 'web_search_tool', permission: 'ask' }] })],
      'AGENTS_FILE: 1.tools.0: web_search_tool changes nothing, so it cannot have the permission ask',
    ],
    ['no list', {}, /^AGENTS_FILE: Invalid input: expected array/],
    ['no JSON', '[', /^AGENTS_FILE is not valid: /],
  ])('are refused with the place of the problem: %s', (_what, content, message) => {
    expect(() => load(content)).toThrow(expect.objectContaining({ name: 'ConfigError' }));
    expect(() => load(content)).toThrow(message);
  });

  it('are refused if the file does not exist', () => {
    expect(() => loadAgentTemplates(path.join(folder, 'none.json'))).toThrow(/^AGENTS_FILE is not valid: ENOENT.*none/);
  });
});
