import { eventually } from '@uswarm/testkit/eventually';
import { deployEdge } from './edge.js';
import { openEdgeClient } from './edge-client.js';
import { upgradeRelease } from './release.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';
import { waitForCurrentLeader } from './leader.js';

/** The installed release with other values until the session is closed. The edge is configured with the new pods. */
export async function changeRelease(session: Session, changes: object): Promise<void> {
  const upgrade = async (values: object): Promise<void> => {
    await upgradeRelease(session, values);
    await waitForCurrentLeader(session.api);
    await deployEdge(session, imageOf(session.settings.images, 'edge'));
    await waitForEdge(session);
  };
  session.onClose(() => upgrade({}));
  await upgrade(changes);
}

/** The node routes to a new pod shortly after it is ready. */
export async function waitForEdge({ api, settings }: Session): Promise<void> {
  const edge = await openEdgeClient(api, settings);
  try {
    await eventually(
      async () => {
        const { status } = await edge.fetch(`${edge.url}/v1/health`, { method: 'GET', headers: {} });
        if (status !== 200) throw new Error(`answered ${status}`);
        return true;
      },
      { description: 'the edge leads to the release', timeoutMs: 60_000 },
    );
  } finally {
    await edge.close();
  }
}
