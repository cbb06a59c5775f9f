import { deployEdge, eventually, fromOutside, imageOf, type Session, upgradeRelease } from '../src/index.js';
import { presentOneLeads } from './leader.js';

/** The installed release with other values until the session is closed. The edge is configured with the new pods. */
export async function changeRelease(session: Session, changes: object): Promise<void> {
  const upgrade = async (values: object): Promise<void> => {
    await upgradeRelease(session, values);
    await presentOneLeads(session.api);
    await deployEdge(session, imageOf(session.settings.images, 'edge'));
    await edgeAnswers(session);
  };
  session.onClose(() => upgrade({}));
  await upgrade(changes);
}

/** The node routes to a new pod shortly after it is ready. */
export async function edgeAnswers({ api, settings }: Session): Promise<void> {
  const outside = await fromOutside(api, settings);
  try {
    await eventually('the edge leads to the release', { withinMs: 60_000 }, async () => {
      const { status } = await outside.fetch(`${outside.url}/v1/health`, { method: 'GET', headers: {} });
      if (status !== 200) throw new Error(`answered ${status}`);
      return true as const;
    });
  } finally {
    await outside.close();
  }
}
