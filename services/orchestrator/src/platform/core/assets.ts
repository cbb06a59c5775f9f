import { readdirSync, readFileSync } from 'node:fs';
import { ApiError } from '@uswarm/contract';
import { DocumentAnswer } from '../http/document-answer.js';

/** Agent avatars (`agent-<slug>.svg`) and icons (`icon-<name>.svg`) shipped with the service. */
const FOLDER = new URL('../../../config/assets/', import.meta.url);
const PREFIX = '/v1/assets/';

const HEADERS = {
  'Content-Type': 'image/svg+xml',
  'Cache-Control': 'public, max-age=86400',
  // A browser opens an SVG as a document, so scripts and external resources are blocked.
  'Content-Security-Policy': "default-src 'none'; sandbox",
  // Apps in a browser have another origin.
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

export interface Assets {
  /** @throws ApiError `asset_not_found` */
  get(name: string): DocumentAnswer;
  /** Returns the generic avatar if the slug does not belong to a default agent. */
  avatarOf(slug: string): string;
  /** Absolute if the public URL is configured. External URLs are returned unchanged. */
  url(url: string): string;
}

/** Loads all images once. `publicUrl` is the API's base URL for clients. */
export function loadAssets(publicUrl: string | undefined): Assets {
  const images = new Map(
    readdirSync(FOLDER).map((name) => [name, new DocumentAnswer(readFileSync(new URL(name, FOLDER), 'utf8'), HEADERS)]),
  );
  const base = (publicUrl ?? '').replace(/\/+$/, '');
  const url = (path: string): string => (path.startsWith(PREFIX) ? `${base}${path}` : path);
  return {
    get(name) {
      const image = images.get(name);
      if (image === undefined) throw new ApiError('asset_not_found');
      return image;
    },
    avatarOf(slug) {
      const own = `agent-${slug}.svg`;
      return url(`${PREFIX}${images.has(own) ? own : 'agent-default.svg'}`);
    },
    url,
  };
}
