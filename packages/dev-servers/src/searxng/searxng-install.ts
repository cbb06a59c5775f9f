import { join } from 'node:path';
import { type InstallOptions, installPythonProgram, type PythonInstallation } from '../python/python-packages.js';

/** The pinned requirements and the launcher; the path is the same from `src` and `dist`. */
export const searxngAssets = join(import.meta.dirname, '..', '..', 'searxng');

const SEARXNG = {
  title: 'SearXNG',
  name: 'searxng',
  size: '25 MB',
  requirements: ['requirements.txt', 'core.txt'].map((name) => join(searxngAssets, name)),
};

/** Installs the pinned SearXNG below a folder, unless it is installed. @throws LocalError */
export function installSearxng(options: InstallOptions): Promise<PythonInstallation> {
  return installPythonProgram(SEARXNG, options);
}
