import { describe, expect, it } from '@jest/globals';
import type { AgentRole } from '@uswarm/contract';
import type { Tool } from '../platform/core/catalog.js';
import { toolsOf } from './agent-tools.js';

const tool = (name: string, enabled: boolean): Tool => ({
  name,
  description: 'd',
  icon_url: 'i',
  category_id: 'c',
  enabled,
  changes: true,
  permission: 'allow',
});
const CATALOG = [tool('b', true), tool('a', false), tool('constructor', true)];

describe('the tools of an agent', () => {
  it('are those of the catalog in the same order', () => {
    const shown = toolsOf(CATALOG, { kind: 'sub-agent', toolSettings: {} });
    expect(shown.map(({ name, enabled, permission }) => [name, enabled, permission])).toEqual([
      ['b', true, 'allow'],
      ['a', false, 'deny'],
      ['constructor', true, 'allow'],
    ]);
    expect(Object.keys(shown[0]!)).toEqual(['name', 'description', 'icon_url', 'category_id', 'enabled', 'permission']);
  });

  it('have the stored settings', () => {
    const settings = {
      a: { enabled: true, permission: 'ask' },
      b: { enabled: false, permission: 'ask' },
      constructor: { enabled: true, permission: null },
    } as const;
    const shown = toolsOf(CATALOG, { kind: 'sub-agent', toolSettings: settings }).map(
      ({ name, enabled, permission }) => [name, enabled, permission],
    );
    expect(shown).toEqual([
      ['b', false, 'deny'],
      ['a', true, 'ask'],
      ['constructor', true, 'allow'],
    ]);
  });

  it('contain a tool of managers only if the agent is one', () => {
    const catalog = [tool('b', true), { ...tool('agents', true), managerOnly: true as const }];
    const named = (kind: AgentRole) => toolsOf(catalog, { kind, toolSettings: {} }).map(({ name }) => name);
    expect(named('manager')).toEqual(['b', 'agents']);
    expect(named('sub-agent')).toEqual(['b']);
  });

  it('contain no unknown tool, even if it has a setting', () => {
    const settings = { gone: { enabled: true, permission: null } };
    expect(toolsOf([tool('b', true)], { kind: 'sub-agent', toolSettings: settings }).map(({ name }) => name)).toEqual([
      'b',
    ]);
  });
});
