import { describe, expect, it } from '@jest/globals';
import type { Tool } from '../core/catalog.js';
import { toolsOf } from './agent-tools.js';

const tool = (name: string, enabled: boolean): Tool => ({
  name,
  description: 'd',
  icon_url: 'i',
  category_id: 'c',
  enabled,
});
const CATALOG = [tool('b', true), tool('a', false), tool('constructor', true)];

describe('the tools of an agent', () => {
  it('are those of the catalog in the same order', () => {
    expect(toolsOf(CATALOG, {})).toEqual(CATALOG);
  });

  it('have the stored switches', () => {
    const enabled = toolsOf(CATALOG, { a: true, b: false }).map(({ name, enabled: on }) => [name, on]);
    expect(enabled).toEqual([
      ['b', false],
      ['a', true],
      ['constructor', true],
    ]);
  });

  it('contain no unknown tool, even if it has a switch', () => {
    expect(toolsOf([tool('b', true)], { gone: true }).map(({ name }) => name)).toEqual(['b']);
  });
});
