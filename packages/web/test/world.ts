import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelServer, type ModelStep, startModelServer, textOf } from '@uswarm/dev-servers';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type PageFixture, startPage } from './page.js';

/** A scripted model; `results` come from the agent's calls so far. */
type Behaviour = (agent: string, prompt: string, results: readonly string[]) => ModelStep[];

export interface World extends PageFixture {
  model: ModelServer;
  /** Set by each test. */
  behave: Behaviour;
  /** A new user with a page, a workspace and a conversation. */
  person(name: string, options?: BrowserContextOptions): Promise<Person>;
}
export interface Person {
  page: Page;
  problems: string[];
  workspace: string;
  conversation: string;
  api<Body>(method: string, path: string, body?: object): Promise<Body>;
  /** Begins another conversation. */
  converse(): Promise<void>;
  ask(text: string): Promise<void>;
  /** Opens a path within the page as a link does, without loading the document again. */
  visit(path: string): Promise<void>;
}

export async function startWorld(environment: Record<string, string> = {}): Promise<World> {
  const world = { behave: () => [{ text: 'Hello.' }] } as unknown as World;
  const model = await startModelServer({
    script: ({ messages }) => {
      const agent = /\(@([\w-]+)\)/.exec(textOf(messages[0]!.content))?.[1] ?? '';
      const prompt = textOf(messages.findLast(({ role }) => role === 'user')!.content);
      const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content));
      return world.behave(agent, prompt, results);
    },
  });
  const settings = { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'test', OPENAI_MODEL: 'scripted' };
  const fixture = await startPage({ ...settings, ...environment });
  async function person(name: string, options: BrowserContextOptions = {}): Promise<Person> {
    const { page, problems } = await fixture.signIn(name, options);
    const token = await fixture.local.token(name);
    async function api<Body>(method: string, path: string, body?: object): Promise<Body> {
      const headers = { 'x-token': token, 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${fixture.local.url}${path}`, { method, headers, ...sent });
      if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
      return (response.status === 204 ? undefined : await response.json()) as Body;
    }
    type Listed = { data: { id: string }[] };
    const workspace = (await api<Listed>('GET', '/v1/workspaces')).data[0]!.id;
    const conversations = `/v1/workspaces/${workspace}/conversations`;
    const conversation = (await api<Listed>('GET', conversations)).data[0]!.id;
    const own: Person = {
      page,
      problems,
      workspace,
      conversation,
      api,
      async converse() {
        const { data } = await api<{ data: { id: string } }>('POST', conversations, { type: 'swarm' });
        own.conversation = data.id;
      },
      ask(text) {
        const body = { content: { type: 'text', text } };
        return api('POST', `${conversations}/${own.conversation}/messages`, body);
      },
      visit: (path) => page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`),
    };
    return own;
  }
  return Object.assign(world, fixture, {
    model,
    person,
    async stop() {
      await fixture.stop();
      await model.close();
    },
  });
}

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** With `USWARM_SCREENSHOTS`, writes screenshots into this folder: desktop and phone, light and dark. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['USWARM_SCREENSHOTS'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES))
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), animations: 'disabled' });
    }
  await page.setViewportSize(SIZES.desktop);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** With `USWARM_FIGURES`, writes measurements into this folder. */
export async function report(name: string, figures: object): Promise<void> {
  const folder = process.env['USWARM_FIGURES'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(figures)}\n`);
}
