import { afterEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from './model-server.js';
import type { TranscriptionScript } from './transcriptions.js';

const OGG = Buffer.from('OggS-and-more');

describe('the transcriptions of the model server', () => {
  let server: ModelServer;
  afterEach(() => server.close());

  async function post(transcribe: TranscriptionScript | undefined, fields: Record<string, string>, name = 'a.ogg') {
    server = await startModelServer({ script: () => [], ...(transcribe === undefined ? {} : { transcribe }) });
    const body = new FormData();
    for (const [key, value] of Object.entries(fields)) body.append(key, value);
    if (name !== '') body.append('file', new Blob([OGG], { type: 'audio/ogg' }), name);
    const headers = { authorization: 'Bearer key' };
    const answer = await fetch(`${server.baseUrl}/audio/transcriptions`, { method: 'POST', headers, body });
    return { status: answer.status, body: (await answer.json()) as { error?: { message: string } } };
  }
  const says: TranscriptionScript = () => ({ text: 'Hello.', usage: { type: 'duration', seconds: 2 } });

  it('answer with the scripted text and usage', async () => {
    const { status, body } = await post(says, { model: 'whisper-1', response_format: 'json' });
    expect({ status, body }).toEqual({
      status: 200,
      body: { text: 'Hello.', usage: { type: 'duration', seconds: 2 } },
    });
    expect(server.transcriptions).toEqual([
      {
        model: 'whisper-1',
        file: { name: 'a.ogg', type: 'audio/ogg', bytes: new Uint8Array(OGG) },
        fields: { model: 'whisper-1', response_format: 'json' },
        authorization: 'Bearer key',
      },
    ]);
  });

  it.each([
    ['a missing file', { model: 'm' }, '', /file/],
    ['a missing model', {}, 'a.ogg', /model/],
    ['an unknown response format', { model: 'm', response_format: 'xml' }, 'a.ogg', /response_format/],
    ['an unknown extension', { model: 'm' }, 'a.aac', /^Unrecognized file format/],
    ['content of another format', { model: 'm' }, 'a.wav', /could not be decoded/],
  ])('refuse %s, as OpenAI does', async (_what, fields, name, message) => {
    const { status, body } = await post(says, fields as Record<string, string>, name);
    expect({ status, message: body.error?.message, accepted: server.transcriptions.length }).toEqual({
      status: 400,
      message: expect.stringMatching(message),
      accepted: 0,
    });
  });

  it('are missing in a server for chat models', async () => {
    expect((await post(undefined, { model: 'm' })).status).toBe(404);
  });
});
