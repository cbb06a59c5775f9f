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
  it('are those of the catalogue, in its order and as it has them', () => {
    expect(toolsOf(CATALOG, {})).toEqual(CATALOG);
  });

  it('follow the switches that were moved', () => {
    const enabled = toolsOf(CATALOG, { a: true, b: false }).map(({ name, enabled: on }) => [name, on]);
    expect(enabled).toEqual([
      ['b', false],
      ['a', true],
      ['constructor', true],
    ]);
  });

  it('are none that the catalogue does not know, whatever was switched', () => {
    expect(toolsOf([tool('b', true)], { gone: true }).map(({ name }) => name)).toEqual(['b']);
  });
});
