import { LIMITS } from '@uswarm/contract';

/** Cuts the content at a character boundary. */
export const previewOf = (content: string): string =>
  content
    .trimStart()
    .slice(0, LIMITS.artifactPreview)
    .toWellFormed()
    .replace(/\uFFFD$/, '');
