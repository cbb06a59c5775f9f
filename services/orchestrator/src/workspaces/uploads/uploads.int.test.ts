import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Attachment } from '@uswarm/contract';
import { webmVoice } from '@uswarm/testkit/media-files';
import { lateSpreadsheet, SPREADSHEET } from '../../../test/office-files.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { download, formOf, linkRefusal, PNG, upload, uploadRefusal, UPLOADS } from '../../../test/uploads.js';
import { createUploadLinks } from './upload-links.js';

const CURSOR_KEY = 'a-key-of-the-tests-that-signs-links-0123';
const PUBLIC_URL = 'https://api.example.com';
const UNKNOWN = '0192d3a4-0000-7000-8000-000000000000';

const pathOf = (link: string): string => link.slice(PUBLIC_URL.length);

describe('uploads', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { CURSOR_KEY, PUBLIC_URL } });
    user = await uswarm.user();
  });
  afterAll(() => uswarm.close());

  const get = (link: string, headers?: Record<string, string>, method?: 'GET' | 'HEAD') =>
    download(uswarm.url, pathOf(link), headers, method);
  const linkAt = (id: string, now: Date): string =>
    createUploadLinks({ secret: CURSOR_KEY, baseUrl: PUBLIC_URL, clock: { now: () => now } }).url(id);

  it('REST-005 POST /v1/uploads takes a form with a file and returns its metadata', async () => {
    const form = await formOf({ content: PNG, name: 'photo.png' });
    const { status, body } = await user.raw({ method: 'POST', path: UPLOADS, ...form });
    expect(status).toBe(201);
    expect(body).toEqual({
      data: {
        id: expect.any(String),
        url: expect.any(String),
        type: 'image',
        name: 'photo.png',
        size: PNG.length,
        mime_type: 'image/png',
        duration: null,
        transcript: null,
        width: 1,
        height: 1,
      },
    });
  });

  it('an attachment has exactly the documented fields', async () => {
    const attachment = await upload(user, { content: 'text', name: 'a.txt' });
    expect(Attachment.parse(attachment)).toEqual(attachment);
    expect(Object.keys(attachment).toSorted()).toEqual(Object.keys(Attachment.shape).toSorted());
  });

  it.each([
    ['a picture', PNG, 'image', 'image/png'],
    ['text', Buffer.from('hello'), 'file', 'text/plain'],
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>'), 'file', 'text/html'],
    ['an empty file', Buffer.alloc(0), 'file', 'application/octet-stream'],
  ])(
    'the type of %s is detected from its content, regardless of the type from the client',
    async (_what, content, type, mime_type) => {
      const attachment = await upload(user, { content, name: 'movie.mp4', type: 'video/mp4' });
      expect(attachment).toMatchObject({ type, mime_type, size: content.length });
    },
  );

  it('a name in any script is kept without deceptive characters', async () => {
    const { name, url } = await upload(user, { content: 'x', name: 'Отчёт 報告 \u202e📄.txt' });
    expect(name).toBe('Отчёт 報告 📄.txt');
    const { headers } = await get(url);
    expect(headers['content-disposition']).toBe(
      `attachment; filename="????? ?? ??.txt"; filename*=UTF-8''${encodeURIComponent('Отчёт 報告 📄.txt')}`,
    );
  });

  it.each([
    ['of .NET', `filename="=?utf-8?B?w5xiZXIucGRm?="; filename*=utf-8''%C3%9Cber.pdf`],
    ['as an encoded word alone', 'filename="=?utf-8?B?w5xiZXIucGRm?="'],
    ['after a name for old readers', `filename="Uber.pdf"; filename*=UTF-8''%C3%9Cber.pdf`],
    ['in UTF-8', 'filename="Über.pdf"'],
  ])('a name is stored and served as the client means it: %s', async (_what, parameters) => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const part = `content-disposition: form-data; name="file"; ${parameters}`;
    const body = Buffer.from(`--x\r\n${part}\r\n\r\nhello\r\n--x--\r\nepilogue`);
    const answer = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, headers, body });
    expect(answer.body.data).toMatchObject({ name: 'Über.pdf', size: 5 });
    const saved = await get(answer.body.data.url);
    expect(saved.headers['content-disposition']).toBe(
      `attachment; filename="?ber.pdf"; filename*=UTF-8''%C3%9Cber.pdf`,
    );
  });

  it('RES-060 a voice message is audio with a duration', async () => {
    const file = await upload(user, { content: webmVoice(3), name: 'voice.webm', type: 'video/webm' });
    expect(file).toMatchObject({ type: 'audio', mime_type: 'audio/webm', duration: 3 });
    expect((await get(file.url)).headers['content-type']).toBe('audio/webm');
  });

  it('a spreadsheet is recognized wherever its type is stated in the file', async () => {
    const { type, mime_type } = await upload(user, { content: lateSpreadsheet(), name: 'table.xlsx' });
    expect({ type, mime_type }).toEqual({ type: 'file', mime_type: SPREADSHEET });
  });

  it('the link returns the same bytes without credentials', async () => {
    const content = randomBytes(3 * 1024 * 1024);
    const { url, size } = await upload(user, { content });
    const { status, headers, bytes } = await get(url);
    expect({ status, contentLength: headers['content-length'] }).toEqual({ status: 200, contentLength: String(size) });
    expect(bytes.equals(content)).toBe(true);
  });

  it.each([
    ['HTML', '<!doctype html><script>alert(1)</script>', 'x.html'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'x.svg'],
    ['XML', '<?xml version="1.0"?><a/>', 'x.xml'],
  ])('%s is served as a binary attachment, which no browser runs', async (_what, content, name) => {
    const { headers } = await get((await upload(user, { content, name })).url);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename=${name}`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
  });

  it('a script is served as a plain text attachment, which no browser runs', async () => {
    const { headers } = await get((await upload(user, { content: 'alert(1)', name: 'x.js' })).url);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename=x.js',
      'x-content-type-options': 'nosniff',
    });
  });

  it('a range request returns a part of the file', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    const { status, headers, bytes } = await get(url, { range: 'bytes=2-5' });
    expect({
      status,
      contentRange: headers['content-range'],
      contentLength: headers['content-length'],
      content: String(bytes),
    }).toEqual({ status: 206, contentRange: 'bytes 2-5/10', contentLength: '4', content: '2345' });
  });

  it('an unsatisfiable range is rejected', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    expect(await linkRefusal(uswarm.url, pathOf(url), { range: 'bytes=10-' })).toBe('range_not_satisfiable');
    // Players learn from the size that they have the whole file.
    const { status, headers } = await get(url, { range: 'bytes=10-' });
    expect({ status, range: headers['content-range'] }).toEqual({ status: 416, range: 'bytes */10' });
  });

  it('a range request with the If-Range of another file returns the whole file', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    const tag = String((await get(url)).headers['etag']);
    expect((await get(url, { range: 'bytes=2-5', 'if-range': tag })).status).toBe(206);
    expect((await get(url, { range: 'bytes=2-5', 'if-range': '"other"' })).status).toBe(200);
  });

  it('HEAD returns the headers of GET', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    const { status, headers, bytes } = await get(url, {}, 'HEAD');
    expect({ status, contentLength: headers['content-length'], bytes: bytes.length }).toEqual({
      status: 200,
      contentLength: '10',
      bytes: 0,
    });
  });

  it('a link is valid for 15 minutes, and expires after 30', async () => {
    const { id } = await upload(user, { content: 'x' });
    const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);
    expect((await get(linkAt(id, minutesAgo(15)))).status).toBe(200);
    expect(await linkRefusal(uswarm.url, pathOf(linkAt(id, minutesAgo(30))))).toBe('upload_link_invalid');
  });

  it('a file can be kept by the client alone, unchanged, for the rest of the time of its link', async () => {
    const { url } = await upload(user, { content: 'x' });
    const expires = Number(new URL(url).searchParams.get('sig')?.split('.')[0]);
    const { headers } = await get(url);
    const [, maxAge] = /^private, max-age=(\d+), immutable$/.exec(String(headers['cache-control'])) ?? [];
    expect(Math.abs(expires - Date.now() / 1_000 - Number(maxAge))).toBeLessThan(5);
  });

  it('two listings have the same link, apart from a change every 15 minutes', async () => {
    const { id } = await upload(user, { content: 'x' });
    const start = Date.UTC(2026, 10, 20, 8, 30);
    expect(linkAt(id, new Date(start + 14 * 60_000))).toBe(linkAt(id, new Date(start)));
  });

  it.each(['GET', 'HEAD'] as const)('%s of a file that the client has is 304 without a body', async (method) => {
    const { url } = await upload(user, { content: '0123456789' });
    const { headers } = await get(url);
    const etag = String(headers['etag']);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get(url, { 'if-none-match': known, 'cache-control': 'no-cache', range: 'bytes=20-' }, method);
      expect({ known, status: again.status, bytes: again.bytes.length, etag: again.headers['etag'] }).toEqual({
        known,
        status: 304,
        bytes: 0,
        etag,
      });
      expect(again.headers['cache-control']).toMatch(/^private, max-age=\d+, immutable$/);
    }
    expect((await get(url, { 'if-none-match': '"other"' }, method)).status).toBe(200);
  });

  it('an error is not cached', async () => {
    const { url } = await upload(user, { content: 'x' });
    for (const link of [url.replace(/.{4}$/, 'AAAA'), linkAt(UNKNOWN, new Date())])
      expect((await get(link, { 'if-none-match': '*' })).headers['cache-control']).toBe('no-store');
    expect((await get(url, { range: 'bytes=10-' })).headers['cache-control']).toBe('no-store');
  });

  it('HEAD ignores a range, which only GET has', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    const { status, headers } = await get(url, { range: 'bytes=2-5' }, 'HEAD');
    expect({ status, length: headers['content-length'] }).toEqual({ status: 200, length: '10' });
  });

  it('a range for a weak ETag returns the whole file', async () => {
    const { url } = await upload(user, { content: '0123456789' });
    const etag = String((await get(url)).headers['etag']);
    expect((await get(url, { range: 'bytes=2-5', 'if-range': etag })).status).toBe(206);
    expect((await get(url, { range: 'bytes=2-5', 'if-range': `W/${etag}` })).status).toBe(200);
  });

  it('a link is valid for one file and cannot be forged', async () => {
    const [one, other] = [await upload(user, { content: '1' }), await upload(user, { content: '2' })];
    const swapped = one.url.replace(one.id, other.id);
    const forged = linkAt(one.id, new Date()).replace(/.{4}$/, 'AAAA');
    for (const link of [swapped, forged]) {
      expect(await linkRefusal(uswarm.url, pathOf(link))).toBe('upload_link_invalid');
    }
  });

  it('do not reveal the existence of files without a valid signature', async () => {
    const { id } = await upload(user, { content: 'x' });
    const refusals = [id, UNKNOWN].map((file) => linkRefusal(uswarm.url, `${UPLOADS}/${file}?sig=1.x`));
    expect(await Promise.all(refusals)).toEqual(['upload_link_invalid', 'upload_link_invalid']);
  });

  it('a link to a deleted file returns upload_not_found', async () => {
    expect(await linkRefusal(uswarm.url, pathOf(linkAt(UNKNOWN, new Date())))).toBe('upload_not_found');
  });

  it('other parts of the form are ignored', async () => {
    const form = await formOf({ content: 'ignored', part: 'thumbnail' }, { content: 'kept', name: 'a.txt' });
    const { body } = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, ...form });
    expect(body.data).toMatchObject({ name: 'a.txt', size: 4 });
  });

  it('a part named file is accepted without a file name', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const body = Buffer.from('--x\r\ncontent-disposition: form-data; name="file"\r\n\r\nhello\r\n--x--\r\n');
    const answer = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, headers, body });
    expect(answer.body.data).toMatchObject({ name: 'file', size: 5 });
  });

  describe('an invalid request', () => {
    const multipart = { 'content-type': 'multipart/form-data; boundary=x' };
    const part = (name: string) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\nhello\r\n`;

    it.each([
      ['no file', multipart, `${part('other')}--x--\r\n`, 'upload_file_missing'],
      ['an empty form', multipart, '--x--\r\n', 'upload_file_missing'],
      ['two files', multipart, `${part('file')}${part('file')}--x--\r\n`, 'malformed_form'],
      ['a form without its final boundary', multipart, part('file'), 'malformed_form'],
      ['no form', multipart, 'hello', 'malformed_form'],
      ['no boundary', { 'content-type': 'multipart/form-data' }, `${part('file')}--x--\r\n`, 'malformed_form'],
      [
        'a boundary that is too long',
        { 'content-type': `multipart/form-data; boundary=${'x'.repeat(300)}` },
        `${part('file')}--x--\r\n`,
        'malformed_form',
      ],
      ['JSON', { 'content-type': 'application/json' }, '{}', 'unsupported_media_type'],
      ['no content type', {}, 'hello', 'unsupported_media_type'],
      ['a compressed body', { ...multipart, 'content-encoding': 'gzip' }, 'hello', 'unsupported_media_type'],
    ])('is rejected: %s', async (_what, headers, body, code) => {
      const before = await uswarm.database.selectFrom('uploads').select('id').execute();
      expect(await uploadRefusal(user, { headers, body: Buffer.from(body) })).toBe(code);
      expect(await uswarm.database.selectFrom('uploads').select('id').execute()).toEqual(before);
    });

    it('is rejected before the file is read if it has no credentials', async () => {
      const form = await formOf({ content: 'x' });
      expect(await uploadRefusal(uswarm.anonymous, form)).toBe('token_missing');
    });
  });
});
