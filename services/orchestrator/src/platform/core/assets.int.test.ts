import { readdirSync, readFileSync } from 'node:fs';
import type { AgentDetails, AgentSummary, AgentTool, IntegrationCatalog, Workspace } from '@uswarm/contract';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const PUBLIC_URL = 'https://api.example.com/';
const folder = new URL('../../../config/assets/', import.meta.url);

let uswarm: TestOrchestrator;
let user: TestUser;
beforeAll(async () => {
  uswarm = await startTestOrchestrator({ environment: { PUBLIC_URL } });
  user = await uswarm.user();
});
afterAll(() => uswarm.close());

async function agentsOf(person: TestUser): Promise<AgentSummary[]> {
  const { body } = await person.get<{ data: Workspace[] }>('/v1/workspaces');
  return (await person.get<{ data: AgentSummary[] }>(`/v1/workspaces/${body.data[0]!.id}/agents`)).body.data;
}

async function shownImages(): Promise<string[]> {
  const agents = await agentsOf(user);
  const { id } = agents[0]!;
  const { data: details } = (await user.get<{ data: AgentDetails }>(`/v1/agents/${id}/details`)).body;
  const { data: tools } = (await user.get<{ data: AgentTool[] }>(`/v1/agents/${id}/tools`)).body;
  const { data: catalog } = (await user.get<{ data: IntegrationCatalog }>('/v1/integrations')).body;
  return [
    ...agents.map(({ avatar }) => avatar),
    details.avatar_url,
    ...tools.map(({ icon_url: url }) => url),
    ...catalog.categories.map(({ image_url: url }) => url),
    ...catalog.items.map(({ icon_url: url }) => url),
  ];
}

describe('the images of the service', () => {
  it('have absolute URLs, which return SVG without credentials', async () => {
    const images = await shownImages();
    expect(images.length).toBeGreaterThan(20);
    for (const image of new Set(images)) {
      const { origin, pathname } = new URL(image);
      const response = await fetch(`${uswarm.url}${pathname}`);
      expect({ origin, status: response.status, type: response.headers.get('content-type') }).toEqual({
        origin: 'https://api.example.com',
        status: 200,
        type: 'image/svg+xml',
      });
      expect(await response.text()).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox=/);
    }
  });

  it('differ between the default agents', async () => {
    const avatars = (await agentsOf(user)).map(({ avatar }) => avatar);
    expect(new Set(avatars).size).toBe(avatars.length);
  });

  it('are paths of the API without a public URL', async () => {
    const other = await startTestOrchestrator();
    const [manager] = await agentsOf(await other.user());
    await other.close();
    expect(manager?.avatar).toBe('/v1/assets/agent-manager.svg');
  });

  it('can be cached, are revalidated, and run no scripts when opened directly', async () => {
    const url = `${uswarm.url}/v1/assets/agent-manager.svg`;
    const first = await fetch(url);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'cache-control': 'public, max-age=86400',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag') ?? 'none' } });
    expect({ status: again.status, body: await again.text() }).toEqual({ status: 304, body: '' });
    expect(again.headers.get('cache-control')).toBe('public, max-age=86400');
  });

  it.each(['agent-unknown.svg', '..%2Fagents.json', 'agents.json'])('do not include %s', async (name) => {
    const { body } = await uswarm.anonymous.get<{ code: string }>(`/v1/assets/${name}`, 404);
    expect(body.code).toBe('asset_not_found');
  });

  it.each(readdirSync(folder))('include %s, which is small and has neither scripts nor references', (name) => {
    const source = readFileSync(new URL(name, folder), 'utf8');
    expect(source.length).toBeLessThan(2_000);
    expect(source).not.toMatch(/<script|<style|<image|<use|href|\son\w+=|url\(/i);
  });
});
