import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';

export const PICTURES_USAGE = `Usage: npm run pictures
Writes the pictures of the page: all of them to .cache/pictures, and those of the docs to docs/pictures. Needs Chromium.`;

/** The pictures are made by a test, which knows how to start the page with a scripted model. @returns the exit code */
export function runPictures() {
  return runForeground(nodeBinary, [...JEST, 'packages/web/test/pictures'], {
    cwd: repositoryRoot,
    env: { ...serviceEnvironment(), USWARM_PICTURES: '1' },
    interactive: true,
  });
}
