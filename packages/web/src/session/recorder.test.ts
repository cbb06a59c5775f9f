import { describe, expect, it } from '@jest/globals';
import { createRecorder } from './recorder.js';

const json = (value: unknown) =>
  new Response(JSON.stringify(value), { status: 201, headers: { 'content-type': 'application/json' } });
const started = (answer: () => Promise<Response> = async () => json({ data: 1 })) => {
  let path = '/w/1';
  const recorder = createRecorder(answer, () => path);
  return { recorder, visit: (next: string) => (path = next) };
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the recorder of calls and events', () => {
  it('has the newest first, with the screen that made them', async () => {
    const { recorder, visit } = started();
    recorder.event({ seq: 1 }, 'message.new');
    visit('/w/1/agents');
    await recorder.fetch('http://localhost/v1/agents', { method: 'POST', body: '{"a":1}' });
    await settled();
    expect(recorder.getSnapshot()).toMatchObject([
      { kind: 'call', method: 'POST', body: { a: 1 }, status: 201, answer: { data: 1 }, screen: '/w/1/agents' },
      { kind: 'event', name: 'message.new', payload: { seq: 1 }, screen: '/w/1' },
    ]);
  });

  it('leaves the answer readable for the client, and keeps no headers', async () => {
    const { recorder } = started();
    const response = await recorder.fetch('http://localhost/v1/a', { headers: { 'x-token': 'secret' } });
    await settled();
    expect(await response.json()).toEqual({ data: 1 });
    expect(JSON.stringify(recorder.getSnapshot())).not.toContain('secret');
  });

  it('passes a failure on, and shows it', async () => {
    const { recorder } = started(() => Promise.reject(new Error('no network')));
    await expect(recorder.fetch('http://localhost/v1/a')).rejects.toThrow('no network');
    expect(recorder.getSnapshot()).toMatchObject([{ status: 0, answer: 'Error: no network' }]);
  });

  it('keeps a bounded number, and tells listeners about changes', () => {
    const { recorder } = started();
    let changes = 0;
    const end = recorder.subscribe(() => (changes += 1));
    for (let at = 0; at < 400; at += 1) recorder.event({ at }, 'message.chunk');
    end();
    recorder.clear();
    expect({ changes, kept: recorder.getSnapshot().length }).toEqual({ changes: 400, kept: 0 });
    for (let at = 0; at < 400; at += 1) recorder.event({ at }, 'message.chunk');
    expect(recorder.getSnapshot().length).toBe(300);
  });
});
