import { readdirSync, readFileSync } from 'node:fs';
import { ApiError } from '@uswarm/contract';
import { DocumentAnswer } from '../../http/document-answer.js';

/** Avatars of agents (`agent-<slug>.svg`) and icons (`icon-<name>.svg`) that come with the service. */
const FOLDER = new URL('../../../config/assets/', import.meta.url);
const PREFIX = '/v1/assets/';

const HEADERS = {
  'Content-Type': 'image/svg+xml',
  'Cache-Control': 'public, max-age=86400',
  // Opened on its own, an SVG is a document: nothing in it may run or load.
  'Content-Security-Policy': "default-src 'none'; sandbox",
  // Apps in a browser have another origin.
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

export interface Assets {
  /** @throws ApiError `asset_not_found` */
  get(name: string): DocumentAnswer;
  /** The avatar of a default agent, or the one of all other agents. */
  avatarOf(slug: string): string;
  /** Absolute if the public URL is known; URLs that are not ours stay as they are. */
  url(url: string): string;
}

/** Reads all images once. `publicUrl` is where clients reach the API. */
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
