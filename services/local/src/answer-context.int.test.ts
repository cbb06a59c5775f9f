import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

const DAY_MS = 24 * 3_600_000;

/** The newest message, which starts with the context. */
const newestMessage = ({ messages }: ModelServerRequest): string => textOf(messages.at(-1)?.content);

const weekday = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long' }).format(at);

/** Answers "What day is tomorrow?" from the prompt, as a model does. */
function tomorrow(request: ModelServerRequest): string {
  const [, today = ''] = /<context>\nIt is (\w+)/.exec(newestMessage(request)) ?? [];
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  return `Tomorrow is ${days[(days.indexOf(today) + 1) % 7]}.`;
}

describe('the context of a reply', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let current: TestClient | undefined;

  beforeAll(async () => {
    model = await startModelServer({ script: (request) => [{ text: tomorrow(request) }] });
    local = await runLocalMode({ OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'model' });
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  afterEach(() => current?.close());

  async function signIn(headers: Record<string, string> = {}): Promise<TestClient> {
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    const credentials = () => ({ 'x-token': token, ...headers });
    current = await startTestClient({ restUrl: local.url, socketUrl: local.url, token, credentials });
    return current;
  }

  // These zones always have different dates.
  it.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago'])('contains the local date in %s', async (timeZone) => {
    const client = await signIn({ 'x-timezone': timeZone, 'x-device-id': randomUUID() });
    const before = Date.now();
    const { answer } = await client.ask('What day is tomorrow?');
    const possible = [before, Date.now()].map((at) => `Tomorrow is ${weekday(timeZone, at + DAY_MS)}.`);
    expect(possible).toContain((answer.content as { text: string }).text);
    expect(newestMessage(model.requests.at(-1)!.body)).toContain(`in the time zone ${timeZone}.`);
  });

  it('contains time zone, name and language of the profile if no device sent a time zone', async () => {
    const client = await signIn();
    const profile = { nickname: 'Ada', time_zone: 'Asia/Tokyo', preferences: { platform_language: 'de' } };
    expect((await client.api('PATCH', '/v1/users', profile)).status).toBe(204);
    await client.ask('Who am I?');
    const told = newestMessage(model.requests.at(-1)!.body);
    expect(told).toContain('in the time zone Asia/Tokyo.');
    expect(told).toContain('The user\'s name is "Ada".');
    expect(told).toContain("The user's language is German (de).");
  });
});
