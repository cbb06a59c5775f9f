import { randomUUID } from 'node:crypto';
import { NAMESPACE } from './fixtures.js';
import { forwardPort } from './port-forward.js';
import { answerWith, type RuntimeUser, send } from './rolling-swarms.js';
import type { Session } from './session.js';

/** Opens the engine behind the search tool. @returns lets a user search for a random word, and waits for the answer */
export async function openSearchEngine(session: Session): Promise<(user: RuntimeUser) => Promise<void>> {
  const forwarded = await forwardPort(session.tools, NAMESPACE.search, 'deployment/upstream', 8080);
  session.onClose(() => forwarded.close());
  return async (user) => {
    const nonce = randomUUID();
    const url = `https://example.com/${randomUUID()}`;
    const response = await fetch(`http://127.0.0.1:${forwarded.port}/results?q=${nonce}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([{ title: 'Found', url, content: 'Found' }]),
    });
    if (!response.ok) throw new Error(`the search upstream returned ${response.status}`);
    await send(user, `Search the web for ${nonce} and answer with sources`);
    await answerWith(user, url, 120_000);
  };
}
