import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS, INTERNAL_PATHS, LIMITS, type ErrorBody, type ErrorCode, type MessageData } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { request as httpRequest } from 'undici';
import type { RawRequest } from '../../test/api-client.js';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const message = (text: string): string => JSON.stringify({ content: { type: 'text', text } });

describe('bad input', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  const log: string[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ logTo: log });
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const send = (request: Omit<RawRequest, 'method' | 'path'>) =>
    user.raw<ErrorBody>({ method: 'POST', path: home.messages, ...request });

  it('a null is an absent field of a body', async () => {
    const { body } = await user.post<{ data: MessageData }>(
      home.messages,
      {
        local_id: null,
        content: { type: 'text', text: 'Hello' },
        mentions: null,
        attachments: null,
      },
      201,
    );
    expect(body.data).toMatchObject({ local_id: null, mentions: [], attachments: [] });
  });

  it('a null as the whole body of a request whose body is optional counts as an absent body', async () => {
    const { status } = await user.raw({
      method: 'POST',
      path: `${home.conversation}/read`,
      headers: JSON_TYPE,
      body: 'null',
    });
    expect(status).toBe(204);
  });

  it('a null in a list of a body is refused with its place', async () => {
    const { body } = await send({
      headers: JSON_TYPE,
      body: '{"content":{"type":"text","text":"x"},"attachments":[null]}',
    });
    expect(body.extra).toMatchObject({ fields: [{ path: 'attachments.0' }] });
  });

  it.each<[ErrorCode, string, Omit<RawRequest, 'method' | 'path'>]>([
    ['malformed_json', 'half a JSON text', { headers: JSON_TYPE, body: '{"content":' }],
    ['malformed_json', 'plain text', { headers: JSON_TYPE, body: 'hello' }],
    [
      'malformed_json',
      'a text with a byte that is not UTF-8',
      { headers: JSON_TYPE, body: Buffer.concat([Buffer.from('{"name":"a'), Buffer.from([0xff]), Buffer.from('b"}')]) },
    ],
    [
      'malformed_json',
      'a text with a surrogate in UTF-8',
      {
        headers: JSON_TYPE,
        body: Buffer.concat([Buffer.from('{"name":"'), Buffer.from('eda080', 'hex'), Buffer.from('"}')]),
      },
    ],
    [
      'malformed_json',
      'a text whose last character is cut',
      {
        headers: JSON_TYPE,
        body: Buffer.concat([Buffer.from('{"name":"'), Buffer.from('f09f98', 'hex'), Buffer.from('"}')]),
      },
    ],
    ['malformed_json', 'bytes that are not UTF-8', { headers: JSON_TYPE, body: Buffer.from([0xff, 0xfe, 0x00]) }],
    ['malformed_json', 'single quotes', { headers: JSON_TYPE, body: "{'a':1}" }],
    [
      'malformed_json',
      'a body that is not compressed with brotli as its header states',
      { headers: { ...JSON_TYPE, 'content-encoding': 'br' }, body: message('hi') },
    ],
    [
      'malformed_json',
      'a body that is not compressed with zstd as its header states',
      { headers: { ...JSON_TYPE, 'content-encoding': 'zstd' }, body: message('hi') },
    ],
    [
      'malformed_json',
      'a body that is compressed with an unknown dictionary',
      {
        headers: { ...JSON_TYPE, 'content-encoding': 'deflate' },
        body: deflateSync(message('hi'), { dictionary: Buffer.from('content') }),
      },
    ],
    ['validation_failed', 'an empty body', { headers: JSON_TYPE }],
    ['validation_failed', 'an array', { headers: JSON_TYPE, body: '[]' }],
    ['validation_failed', 'null', { headers: JSON_TYPE, body: 'null' }],
    ['validation_failed', 'a deep array', { headers: JSON_TYPE, body: '['.repeat(5_000) + ']'.repeat(5_000) }],
    ['unsupported_media_type', 'no content type', { body: message('hi') }],
    ['unsupported_media_type', 'text/plain', { headers: { 'content-type': 'text/plain' }, body: message('hi') }],
    [
      'unsupported_media_type',
      'a form',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
    ],
    [
      'unsupported_media_type',
      'an unknown encoding',
      { headers: { ...JSON_TYPE, 'content-encoding': 'rot13' }, body: message('hi') },
    ],
    [
      'payload_too_large',
      'one byte over 256 KiB',
      { headers: JSON_TYPE, body: message('hi').padEnd(LIMITS.bodyBytes + 1) },
    ],
    [
      'payload_too_large',
      'a compressed body that is too large when decompressed',
      {
        headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
        body: gzipSync(message('hi').padEnd(LIMITS.bodyBytes + 1)),
      },
    ],
  ])('ERR-001 ERR-002 ERR-003 returns %s for %s, and stores nothing', async (code, _what, request) => {
    const before = await allRows(uswarm.database);
    const { status, headers, body } = await send(request);
    expect(status).toBe(ERRORS[code].status);
    expect(body).toEqual({
      message: ERRORS[code].message,
      code,
      extra: expect.objectContaining({ request_id: headers['x-request-id'] }),
    });
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('accepts a body of exactly 256 KiB', async () => {
    const { status } = await send({ headers: JSON_TYPE, body: message('hi').padEnd(LIMITS.bodyBytes) });
    expect(status).toBe(201);
  });

  it.each(['klingon', 'latin1'])(
    'ERR-001 names the right encoding for a body in %s, and stores nothing',
    async (charset) => {
      const before = await allRows(uswarm.database);
      const headers = { 'content-type': `application/json; charset=${charset}` };
      const { status, body } = await send({ headers, body: message('hi') });
      expect({ status, code: body.code, message: body.message }).toEqual({
        status: 415,
        code: 'unsupported_media_type',
        message: 'The body must be encoded in UTF-8.',
      });
      expect(await allRows(uswarm.database)).toEqual(before);
    },
  );

  it.each(['application/json; charset=utf8', 'application/json;charset="UTF-8"'])('accepts %s', async (type) => {
    expect((await send({ headers: { 'content-type': type }, body: message('grün') })).status).toBe(201);
  });

  it('accepts a compressed body with an explicit charset', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'content-encoding': 'gzip' };
    expect((await send({ headers, body: gzipSync(message('hi')) })).status).toBe(201);
  });

  it('ERR-003 returns the request id of the client in an error', async () => {
    const { body } = await send({ headers: { ...JSON_TYPE, 'x-request-id': 'from-the-client-1' }, body: '{' });
    expect(body.extra?.request_id).toBe('from-the-client-1');
  });

  it.each(['short', 'with blanks in it', 'x'.repeat(129), 'injected"quotes'])(
    'replaces the invalid request id %j of a client',
    async (sent) => {
      const { body } = await send({ headers: { ...JSON_TYPE, 'x-request-id': sent }, body: '{' });
      expect(body.extra?.request_id).toMatch(/^[\da-f-]{36}$/);
    },
  );

  it.each([
    ['GET', '/v1/nothing'],
    ['GET', '/v1/'],
    ['GET', '/v1/nothing/%ZZ'],
    ['GET', '/v1/../v1/nothing'],
  ] as const)('returns route_not_found for %s %s', async (method, path) => {
    expect(await user.refusal(method, path)).toBe('route_not_found');
  });

  it.each([
    ['POST', '/v1/health', 'GET, HEAD'],
    ['DELETE', '/v1/users/profile', 'GET, HEAD'],
    ['GET', '/v1/uploads', 'POST'],
    ['PATCH', `/v1/workspaces/${crypto.randomUUID()}/messages/${crypto.randomUUID()}/stop`, 'POST'],
    ['POST', `/v1/workspaces/${crypto.randomUUID()}`, 'DELETE, GET, HEAD, PATCH'],
  ] as const)('returns method_not_allowed for %s %s, which allows %s', async (method, path, allow) => {
    const { status, body, headers } = await uswarm.anonymous.raw<ErrorBody>({ method, path });
    expect({ status, code: body.code, allow: headers['allow'] }).toEqual({
      status: 405,
      code: 'method_not_allowed',
      allow,
    });
  });

  describe('deeply nested JSON', () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const bodies: [string, (levels: number) => string][] = [
      ['as the body', deep],
      ['in an unknown field', (levels) => `{"content":{"type":"text","text":"x"},"other":${deep(levels)}}`],
      [
        'in an unknown field of the content',
        (levels) => `{"content":{"type":"text","text":"x","other":${deep(levels)}}}`,
      ],
      ['in a known field', (levels) => `{"content":${deep(levels)}}`],
    ];
    it.each(bodies)(
      'deep JSON %s is rejected with validation_failed, without an error in the log',
      async (_where, body) => {
        const lines = log.length;
        const answer = await send({ headers: JSON_TYPE, body: body(100_000) });
        expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
        expect(answer.body.extra?.fields).toEqual([{ path: '', message: 'must not be nested deeper than 64 levels' }]);
        expect(log.slice(lines).filter((line) => line.includes('a request failed'))).toEqual([]);
      },
    );

    it('the internal API rejects deep JSON', async () => {
      const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
      const answer = await httpRequest(`${uswarm.internalUrl}${INTERNAL_PATHS.sessions}`, {
        method: 'POST',
        headers: { ...JSON_TYPE, authorization: `Bearer ${token}` },
        body: `{"sessions":[],"other":${deep(100_000)}}`,
      });
      const { code } = (await answer.body.json()) as ErrorBody;
      expect({ status: answer.statusCode, code }).toEqual({ status: 400, code: 'validation_failed' });
    });

    it('an unknown field with up to 64 levels is accepted', async () => {
      const { status } = await send({ headers: JSON_TYPE, body: bodies[1]?.[1](60) ?? '' });
      expect(status).toBe(201);
    });
  });

  it.each(['%ZZ', '%', '%E0%A4%A', '%FF'])(
    'returns workspace_not_found for an id that cannot be decoded: %s',
    async (id) => {
      expect(await user.refusal('GET', `/v1/workspaces/${id}`)).toBe('workspace_not_found');
      expect(await user.refusal('GET', `${home.workspace}/conversations/${id}`)).toBe('workspace_not_found');
    },
  );

  it('checks credentials before ids and body', async () => {
    const path = `/v1/workspaces/${crypto.randomUUID()}/conversations/x/messages`;
    const { body } = await uswarm.anonymous.raw<ErrorBody>({ method: 'POST', path, headers: JSON_TYPE, body: '{' });
    expect(body.code).toBe('token_missing');
  });

  it('returns an internal error without its cause', async () => {
    await uswarm.database.schema.alterTable('users').renameColumn('surname', 'renamed').execute();
    try {
      const { status, body } = await user.raw<ErrorBody>({ method: 'GET', path: '/v1/users/profile' });
      expect({ status, code: body.code, message: body.message }).toEqual({
        status: 500,
        code: 'internal_error',
        message: ERRORS.internal_error.message,
      });
      expect(JSON.stringify(body)).not.toMatch(/surname|column|select/i);
    } finally {
      await uswarm.database.schema.alterTable('users').renameColumn('renamed', 'surname').execute();
    }
  });

  it('assigns a different request id to each of several concurrent invalid requests', async () => {
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, index) => send({ headers: JSON_TYPE, body: index % 3 === 0 ? '{' : 'null' })),
    );
    expect(new Set(all.map(({ body }) => body.extra?.request_id)).size).toBe(30);
  });
});
