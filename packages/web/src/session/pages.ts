/** Page paths. */
export const pages = {
  workspace: (w: string) => `/w/${w}`,
  conversation: (w: string, c: string) => `/w/${w}/c/${c}`,
  /** The conversation, scrolled to the message. */
  message: (w: string, c: string, messageId: string) => `/w/${w}/c/${c}?message=${messageId}`,
  agents: (w: string) => `/w/${w}/agents`,
  connections: (w: string) => `/w/${w}/connections`,
  usage: (w: string) => `/w/${w}/usage`,
  receipts: (w: string) => `/w/${w}/receipts`,
  waiting: '/waiting',
  account: '/account',
  legal: (document: string) => `/legal/${document}`,
};
/** Opens a side panel in the current conversation: `navigate(panel.artifact(id))`. */
export const panel = {
  swarm: '?panel=swarm',
  search: '?panel=search',
  artifact: (id: string) => `?panel=artifact&artifact=${id}`,
  timeline: (turnId: string) => `?panel=timeline&turn=${turnId}`,
};
