import type { ViewContext } from '../src/features/messages/message-view.js';

/** Shows things as they are now; links lead nowhere. */
export const showNow = (): ViewContext => ({
  now: new Date(),
  avatar: (slug) => `avatar/${slug}`,
  attachment: (stored) => ({ ...stored, url: `link/${stored.id}` }),
});
