import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toolNameOf } from './tool-names.js';

const OFFERED = new Set([
  'web_search_tool',
  'remember',
  'recall',
  'create_calendar_event',
  'search',
  'search_mail',
  'hand-over',
]);

describe('the name of a tool', () => {
  it.each([
    ['web_search_tool', 'web_search_tool'],
    ['functions.web_search_tool', 'web_search_tool'],
    ['functions.web_search_tool:0', 'web_search_tool'],
    ['functions/web_search_tool#3', 'web_search_tool'],
    ['default_api.web_search_tool', 'web_search_tool'],
    ['default_api:web_search_tool', 'web_search_tool'],
    ['mcp__some_server__web_search_tool', 'web_search_tool'],
    ['mcp_server_remember', 'remember'],
    ['server::remember', 'remember'],
    ['web_search_tool<|channel|>commentary', 'web_search_tool'],
    ['<|constrain|>web_search_tool', 'web_search_tool'],
    ['Web_Search_Tool', 'web_search_tool'],
    ['web-search-tool', 'web_search_tool'],
    ['webSearchTool', 'web_search_tool'],
    ['WebSearchTool', 'web_search_tool'],
    ['web.search.tool', 'web_search_tool'],
    ['web_search', 'web_search_tool'],
    ['web_search_tool()', 'web_search_tool'],
    ['web_search_tool ', 'web_search_tool'],
    [' "web_search_tool"', 'web_search_tool'],
    ['tool_remember', 'remember'],
    ['remember_tool', 'remember'],
    ['tool.remember.call', 'remember'],
    ['rememberremember', 'remember'],
    ['functions.search_mail', 'search_mail'],
    ['hand_over', 'hand-over'],
    ['web_search_tool<tool_sep>', 'web_search_tool'],
    ['web_search_tool</tool_call>', 'web_search_tool'],
    ['web_search_tool json', 'web_search_tool'],
    ['<function=web_search_tool>', 'web_search_tool'],
    ['functions.create_calendar_event_0', 'create_calendar_event'],
  ])('is found in %j', (name, expected) => {
    expect(toolNameOf(name, OFFERED)).toBe(expected);
  });

  it.each([
    'remember.recall',
    'recall_remember',
    'forget',
    'deep_search',
    'search now',
    'remembering',
    'do_not_remember',
    'functions.',
    '',
    'tool',
  ])('is unknown in %j', (name) => {
    expect(toolNameOf(name, OFFERED)).toBeUndefined();
  });

  it('is unknown if two tools have the same decorated name', () => {
    expect(toolNameOf('Read-File', new Set(['read_file', 'readFile']))).toBeUndefined();
    expect(toolNameOf('read', new Set(['read_tool', 'call_read']))).toBeUndefined();
  });

  it('is kept if it is offered, whatever else is', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 }), (names) => {
        for (const name of names) expect(toolNameOf(name, new Set(names))).toBe(name);
      }),
    );
  });
});
