import type { Kinds } from './kinds.js';
import { NAMESPACE } from './fixtures.js';
import { forwardPort } from './port-forward.js';
import type { Session } from './session.js';

/** A request that the model server received. */
export interface ReceivedModelRequest {
  authorization: string;
  model: string;
  /** The plan's word in the user's message: see `e2e/images/model-server/server.mjs`. */
  word?: string;
  /** The number of tool results in its turn. */
  results?: number;
}

/** The workspace's runtime calls the model server. The release's other workspaces use the demo provider. */
export async function useModelServer(session: Session, name: string): Promise<Kinds['Pod'] | undefined> {
  // A pod that is deleted while it starts uses its whole grace period, and the next pod waits for it.
  await session.ready(name);
  await session.patch(name, { config: { defaultProvider: 'openai' } });
  const { object } = await session.pod(
    name,
    'of the provider openai',
    ({ spec }) =>
      spec?.containers[0]?.env?.some((each) => each.name === 'USWARM_DEFAULT_PROVIDER' && each.value === 'openai') ===
      true,
  );
  await session.ready(name);
  return object;
}

/** The requests that the model server received, oldest first. */
export async function modelRequests(session: Session): Promise<ReceivedModelRequest[]> {
  const forwarded = await forwardPort(session.tools, NAMESPACE.models, 'deployment/models', 8081);
  try {
    const response = await fetch(`http://127.0.0.1:${forwarded.port}/requests`);
    return (await response.json()) as ReceivedModelRequest[];
  } finally {
    await forwarded.close();
  }
}
