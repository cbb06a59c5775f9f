import { EventsAnswer, INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { request } from 'undici';
import type { TestOrchestrator } from './test-orchestrator.js';

type Orchestrator = Pick<TestOrchestrator, 'internalKey' | 'internalUrl'>;

export async function callAsGateway(
  { internalKey, internalUrl }: Orchestrator,
  path: string,
  body: object,
): Promise<{ status: number; body: unknown }> {
  const token = await signInternalToken(parseSigningKey(internalKey), 'realtime-gateway');
  const answer = await request(`${internalUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return { status: answer.statusCode, body: await answer.body.json() };
}

export interface PageQuery {
  workspaceId: string;
  after: number;
  maxBytes?: number;
}

export async function readPage(
  uswarm: Orchestrator,
  { workspaceId, after, maxBytes }: PageQuery,
): Promise<EventsAnswer> {
  const body = { workspace_id: workspaceId, after, ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }) };
  return EventsAnswer.parse((await callAsGateway(uswarm, INTERNAL_PATHS.events, body)).body);
}

export async function readPages(uswarm: Orchestrator, query: PageQuery): Promise<EventsAnswer['events'][]> {
  const { events, last_seq: lastSeq } = await readPage(uswarm, query);
  const after = events.at(-1)?.seq ?? query.after;
  return after >= lastSeq ? [events] : [events, ...(await readPages(uswarm, { ...query, after }))];
}
