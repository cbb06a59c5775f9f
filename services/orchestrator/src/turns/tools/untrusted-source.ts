/** The user did not write these. */
export const UNTRUSTED_SOURCES = ['web', 'app', 'attachment', 'memory', 'artifact'] as const;
export type UntrustedSource = (typeof UNTRUSTED_SOURCES)[number];
