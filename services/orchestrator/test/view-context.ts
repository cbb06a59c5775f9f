import type { ViewContext } from '../src/chat/message-view.js';

/** A view context with the current time and links that lead nowhere. */
export const currentViewContext = (): ViewContext => ({
  now: new Date(),
  avatar: (slug) => `avatar/${slug}`,
  attachment: (stored) => ({ ...stored, url: `link/${stored.id}` }),
});
