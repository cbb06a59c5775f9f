import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, installPythonProgram } from '@uswarm/dev-servers';

/** The pinned requirements and the client; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', 'python-openai');

const PYTHON_OPENAI = {
  title: 'openai for Python',
  name: 'python-openai',
  size: '15 MB',
  requirements: [join(assets, 'requirements.txt')],
};

export interface PythonOpenaiOptions {
  baseUrl: string;
  apiKey: string;
  model: string;
}

/**
 * Asks a question with each call of OpenAI's package for Python; installs it first if needed.
 *
 * @returns the texts and tokens by call, or the error's class and code
 * @throws LocalError if it cannot be installed
 */
export async function askWithPythonOpenai({ baseUrl, apiKey, model }: PythonOpenaiOptions): Promise<unknown> {
  const { python, packages } = await installPythonProgram(PYTHON_OPENAI, {
    directory: join(cacheFolder(), 'python-openai'),
  });
  const args = ['-I', join(assets, 'ask.py'), packages, baseUrl, apiKey, model];
  const { stdout } = await promisify(execFile)(python, args, { env: { PATH: process.env['PATH'] } });
  return JSON.parse(stdout);
}
