import { afterEach, describe, expect, it } from '@jest/globals';
import { type RawMcpServerOptions, type RawResults, startRawMcpServer } from '@uswarm/testkit/raw-mcp-server';
import { testConnections } from '../test/test-connections.js';
import { toToolResult } from './tool-result.js';

const NEVER = new AbortController().signal;
const noToken = () => undefined;

const inputSchema = { type: 'object' };
const GOOD = { name: 'good', inputSchema };

const KINDS = [
  { isModern: false, streams: false },
  { isModern: false, streams: true },
  { isModern: true, streams: false },
  { isModern: true, streams: true },
];

describe.each(KINDS)('a server that does not keep to the protocol: %j', (kind) => {
  let cleanup = new AsyncDisposableStack();
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(results: RawResults, options: RawMcpServerOptions = {}) {
    const server = await startRawMcpServer({ ...kind, ...options, results });
    cleanup.defer(server.close);
    const connections = testConnections(server.endpoint);
    cleanup.defer(() => connections.close());
    const list = () => connections.list(noToken, NEVER);
    const call = () => connections.call(noToken, { name: 'good', arguments: {} }, NEVER);
    return { server, list, call };
  }

  const listOf = (...tools: unknown[]) => ({ 'tools/list': { tools, ttlMs: 0, cacheScope: 'private' } });

  it.each([
    ['description: null', { description: null }, {}],
    ['description: 5', { description: 5 }, {}],
    ['title: 3', { title: 3 }, {}],
    ['annotations: null', { annotations: null }, {}],
    ['annotations: []', { annotations: [] }, {}],
    [
      'hints of another type',
      { annotations: { readOnlyHint: 'yes', idempotentHint: true, title: null } },
      { annotations: { idempotentHint: true } },
    ],
    ['outputSchema: []', { outputSchema: [] }, {}],
    ['outputSchema: null', { outputSchema: null }, {}],
    ['icons: null', { icons: null }, {}],
    ['icons without an address', { icons: [{}] }, {}],
    ['execution: null', { execution: null }, {}],
    ['_meta: null', { _meta: null }, {}],
    [
      'a schema without a type',
      { inputSchema: { properties: { a: { type: 'string' } } } },
      { inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    ],
    ['a schema with several types', { inputSchema: { type: ['object', 'null'] } }, {}],
    ['properties: []', { inputSchema: { type: 'object', properties: [] } }, {}],
    ['properties and required: null', { inputSchema: { type: 'object', properties: null, required: null } }, {}],
    [
      'a property without a schema',
      { inputSchema: { type: 'object', properties: { a: null, b: true } } },
      { inputSchema: { type: 'object', properties: { a: {}, b: true } } },
    ],
    [
      'required with a number',
      { inputSchema: { type: 'object', required: ['a', 1] } },
      { inputSchema: { type: 'object', required: ['a'] } },
    ],
  ])('lists a tool with %s, and the others', async (_, odd, kept) => {
    const { list } = await setUp(listOf({ name: 'odd', inputSchema, ...odd }, GOOD));
    expect(await list()).toEqual({
      tools: [{ name: 'odd', inputSchema, ...kept }, GOOD].map((tool) => expect.objectContaining(tool)),
      unusable: [],
    });
  });

  it.each([
    ['null', null, { name: '', problem: 'it is not an object' }],
    ['text', 'odd', { name: '', problem: 'it is not an object' }],
    ['name: 7', { name: 7, inputSchema }, { name: '', problem: 'it has no name' }],
    ['an empty name', { name: '', inputSchema }, { name: '', problem: 'it has no name' }],
    [
      'inputSchema: null',
      { name: 'odd', inputSchema: null },
      { name: 'odd', problem: 'it has no schema for its arguments' },
    ],
    ['no inputSchema', { name: 'odd' }, { name: 'odd', problem: 'it has no schema for its arguments' }],
    [
      'a schema for text',
      { name: 'odd', inputSchema: { type: 'string' } },
      { name: 'odd', problem: 'it has no schema for its arguments' },
    ],
  ])('lists the other tools, and tells why one with %s cannot be used', async (_, odd, unusable) => {
    const { list } = await setUp(listOf(odd, GOOD));
    expect(await list()).toEqual({ tools: [GOOD], unusable: [unusable] });
  });

  it('names at most 20 unusable tools', async () => {
    const { list } = await setUp(listOf(...Array.from({ length: 5_000 }, () => null), GOOD));
    const { tools, unusable } = await list();
    expect({ tools, unusable: unusable.length }).toEqual({ tools: [GOOD], unusable: 20 });
  });

  it('lists nothing if it sends null instead of tools, and fails if it sends text', async () => {
    const { list } = await setUp({ 'tools/list': { tools: null } });
    expect(await list()).toEqual({ tools: [], unusable: [] });
    const other = await setUp({ 'tools/list': { tools: 'none' } });
    await expect(other.list()).rejects.toThrow('returned an invalid response');
  });

  it.each([
    ['null', null],
    ['empty', ''],
    ['an object', {}],
  ])('ends the list at a cursor that is %s', async (_, nextCursor) => {
    const { list, server } = await setUp({ 'tools/list': { tools: [GOOD], nextCursor } });
    expect((await list()).tools).toEqual([GOOD]);
    expect(server.methods.filter((method) => method === 'tools/list')).toHaveLength(1);
  });

  it('reads the next page at a cursor that is a number', async () => {
    const page = ({ cursor }: { cursor?: unknown }) =>
      cursor === undefined ? { tools: [GOOD], nextCursor: 2 } : { tools: [{ name: `page_${cursor}`, inputSchema }] };
    const { list } = await setUp({ 'tools/list': page });
    expect((await list()).tools.map(({ name }) => name)).toEqual(['good', 'page_2']);
  });

  it('reads each page once if the cursors form a circle', async () => {
    const next = new Map<unknown, string>([
      [undefined, 'a'],
      ['a', 'b'],
      ['b', 'a'],
    ]);
    const page = ({ cursor = undefined }: { cursor?: unknown }) => ({
      tools: [{ name: `tool_${cursor}`, inputSchema }],
      nextCursor: next.get(cursor),
    });
    const { list } = await setUp({ 'tools/list': page });
    expect((await list()).tools.map(({ name }) => name)).toEqual(['tool_undefined', 'tool_a', 'tool_b']);
  });

  it.each([
    ['content: null', { content: null }, { text: 'The tool returned nothing.', failed: false }],
    ['no content, but structured content', { structuredContent: { n: 1 } }, { text: '{"n":1}', failed: false }],
    [
      'content: null and structured content',
      { content: null, structuredContent: { n: 1 } },
      { text: '{"n":1}', failed: false },
    ],
    ['content that is text', { content: 'Done.' }, { text: 'Done.', failed: false }],
    ['content that is one block', { content: { type: 'text', text: 'Done.' } }, { text: 'Done.', failed: false }],
    ['a block that is text', { content: ['Done.'] }, { text: 'Done.', failed: false }],
    [
      'null among the blocks',
      { content: [null, { type: 'text', text: 'Done.' }] },
      { text: '[content that cannot be read]\nDone.', failed: false },
    ],
    [
      'text: null',
      {
        content: [
          { type: 'text', text: null },
          { type: 'text', text: 'Done.' },
        ],
      },
      { text: '[text that cannot be read]\nDone.', failed: false },
    ],
    ['text: 5', { content: [{ type: 'text', text: 5 }] }, { text: '5', failed: false }],
    [
      'a block of an unknown type',
      { content: [{ type: 'video' }, { type: 'text', text: 'Done.' }] },
      { text: '[content of type video, which is not supported]\nDone.', failed: false },
    ],
    [
      'a block of an unknown type with text',
      { content: [{ type: 'markdown', text: '# Done' }] },
      { text: '# Done', failed: false },
    ],
    [
      'an image without data',
      { content: [{ type: 'image', mimeType: 'image/png', data: null }] },
      { text: '[image that cannot be read]', failed: false },
    ],
    [
      'annotations: null',
      { content: [{ type: 'text', text: 'Done.', annotations: null, _meta: null }] },
      { text: 'Done.', failed: false },
    ],
    [
      'a link without a name',
      { content: [{ type: 'resource_link', uri: 'https://a.example/' }] },
      { text: '[link: https://a.example/ https://a.example/]' },
    ],
    [
      'a resource without an address',
      { content: [{ type: 'resource', resource: { text: 'Done.', mimeType: null } }] },
      { text: 'Done.' },
    ],
    [
      'structuredContent: null',
      { content: [{ type: 'text', text: 'Done.' }], structuredContent: null },
      { text: 'Done.', failed: false },
    ],
    ['isError: null', { content: [{ type: 'text', text: 'Done.' }], isError: null }, { text: 'Done.', failed: false }],
    [
      'isError: "true"',
      { content: [{ type: 'text', text: 'Broken.' }], isError: 'true' },
      { text: 'Broken.', failed: true },
    ],
    ['_meta: null', { content: [{ type: 'text', text: 'Done.' }], _meta: null }, { text: 'Done.', failed: false }],
    [
      'resultType: null',
      { content: [{ type: 'text', text: 'Done.' }], resultType: null },
      { text: 'Done.', failed: false },
    ],
  ])('gives the model what can be read of a result with %s', async (_, result, read) => {
    const { call } = await setUp({ 'tools/call': result });
    expect(toToolResult(await call())).toMatchObject(read);
  });

  it('gives the model a list as structured content', async () => {
    const { call } = await setUp({ 'tools/call': { content: [], structuredContent: [1, 2] } });
    expect(toToolResult(await call()).text).toBe(kind.isModern ? '[1,2]' : '{"result":[1,2]}');
  });

  it.each([
    ['base64 in lines', 'AQ\r\nEB\n'],
    ['a data URL', 'data:image/png;base64,AQEB'],
  ])('reads an image with %s', async (_, data) => {
    const { call } = await setUp({ 'tools/call': { content: [{ type: 'image', mimeType: 'image/png', data }] } });
    expect(toToolResult(await call()).parts).toEqual([{ type: 'image', mediaType: 'image/png', data: 'AQEB' }]);
  });

  it('has executed a call whose result lacks the structured content that its tool announces', async () => {
    const tool = { ...GOOD, outputSchema: { type: 'object', properties: { n: { type: 'number' } } } };
    const { list, call } = await setUp({
      ...listOf(tool),
      'tools/call': { content: [{ type: 'text', text: 'Done.' }] },
    });
    await list();
    expect(toToolResult(await call())).toEqual({ text: 'Done.', failed: false });
  });

  it.each([
    ['content: 5', { content: 5 }],
    ['null', null],
    ['text', 'Done.'],
  ])('leaves it unknown whether a call was executed if the result is %s', async (_, result) => {
    const { call } = await setUp({ 'tools/call': result });
    await expect(call()).rejects.toMatchObject({ name: 'McpFailure', outcomeUnknown: true });
  });

  it.each([
    ['error: null', { error: null }],
    ['an unknown field', { took: 5 }],
  ])('may add %s to its responses', async (_, more) => {
    const response = (message: object) => ('result' in message ? { ...message, ...more } : message);
    const { list } = await setUp(listOf(GOOD), { response });
    expect((await list()).tools).toEqual([GOOD]);
  });

  it.each([
    ['result: null', { result: null }, {}],
    ['data: null', {}, { data: null }],
  ])('rejects a call with an error that has %s', async (_, more, inError) => {
    const error = { code: -32_602, message: 'No such issue.', ...inError };
    const { call } = await setUp(
      { 'tools/call': {} },
      {
        response: ({ result, ...message }) =>
          result !== undefined && Object.keys(result as object).every((key) => key === 'resultType')
            ? { ...message, ...more, error }
            : { ...message, ...(result === undefined ? {} : { result }) },
      },
    );
    await expect(call()).rejects.toMatchObject({ name: 'ProtocolError', code: -32_602, message: 'No such issue.' });
  });

  it.each([
    ['instructions: null', { instructions: null }],
    ['capabilities: null', { capabilities: null }],
    ['capabilities: []', { capabilities: [] }],
    ['no tools among its capabilities', { capabilities: { logging: null } }],
    ['tools: true', { capabilities: { tools: true, prompts: [] } }],
    ['a server without a version', { serverInfo: { name: 'odd' } }],
    ['serverInfo: null', { serverInfo: null }],
    ['_meta: null', { _meta: null }],
  ])('connects with %s', async (_, odd) => {
    const first = kind.isModern
      ? { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...odd } }
      : {
          initialize: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'odd', version: '1' },
            ...odd,
          },
        };
    const { list } = await setUp({ ...first, ...listOf(GOOD) });
    expect((await list()).tools).toEqual([GOOD]);
  });
});

describe('a server of version 2026-07-28', () => {
  it('may leave out for how long its list is valid', async () => {
    const results = { 'tools/list': { tools: [GOOD], ttlMs: null } };
    await using server = await startRawMcpServer({ isModern: true, results }).then((started) => ({
      ...started,
      [Symbol.asyncDispose]: started.close,
    }));
    const connections = testConnections(server.endpoint);
    expect((await connections.list(noToken, NEVER)).tools).toEqual([GOOD]);
    await connections.close();
  });
});
