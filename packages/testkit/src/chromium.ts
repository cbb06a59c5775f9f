import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { MissingPart } from '@uswarm/dev-servers';
import type { Browser } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const MAC = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser of this machine; `CHROMIUM` names another one. */
function findChromium(): string | undefined {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return [...folders.flatMap((folder) => NAMES.map((name) => path.join(folder, name))), ...MAC].find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function missingChromium(): MissingPart | undefined {
  if (findChromium() !== undefined) return undefined;
  return {
    reason: 'There is no Chromium or Chrome in PATH.',
    install: 'Install one, for example the Debian package chromium, or set CHROMIUM to its path.',
  };
}

/**
 * @param more arguments of the browser
 * @throws Error if there is none; see `describeWith('chromium', …)`
 */
export async function startChromium(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(missingChromium()?.reason);
  // The sandbox of Chromium does not work for root and in most containers. There is no user who could allow a page to connect to this machine.
  const args = ['--no-sandbox', '--disable-features=LocalNetworkAccessChecks,AutofillServerCommunication', ...more];
  // Loaded here, because most test files import this module for `describeWith` and start no browser.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath, args });
}
