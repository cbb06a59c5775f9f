import { deployEdge, imageOf, type Session, upgradeRelease } from '../src/index.js';

/** The installed release with other values until the session is closed. The edge learns of new pods. */
export async function changeRelease(session: Session, changes: object): Promise<void> {
  const upgrade = async (values: object): Promise<void> => {
    await upgradeRelease(session, values);
    await deployEdge(session, imageOf(session.settings.images, 'edge'));
  };
  session.onClose(() => upgrade({}));
  await upgrade(changes);
}
