import type { CodeFile, CodeResult, CodeRunner, WrittenFile } from '@uswarm/code-runner';
import { CODE_TOOL } from '@uswarm/contract/agent-tools';
import { storable } from '@uswarm/service-kit';
import { z } from 'zod';
import { isId } from '../../platform/database/id.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import {
  definePlatformTool,
  type PlatformTool,
  type StoredText,
  type ToolCall,
} from '../../turns/tools/platform-tool.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';
import { isPicture, SNIFFED_BYTES, sniffMediaType } from '../uploads/file-kind.js';
import { cleanName } from '../uploads/file-names.js';
import type { GivenFile, GivenFiles } from './given-files.js';
import { type AttachedFiles, fileNamed } from './named-file.js';
import { roomIn } from './result-room.js';

export interface StoredArtifact {
  title: string;
  version: number;
  content: string;
}

export interface CodeToolDeps extends AttachedFiles {
  runner: Pick<CodeRunner, 'run'>;
  bytesOf: (file: StoredFile) => Promise<Uint8Array>;
  artifactById: (workspaceId: string, id: string) => Promise<StoredArtifact | undefined>;
  given: GivenFiles;
}

/** Total bytes; more would be a burden for this process. */
const INPUT_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 10;
const MAX_CODE_CHARACTERS = 100_000;

const Input = z.object({
  language: z.enum(['python', 'javascript']),
  code: z.string().min(1).max(MAX_CODE_CHARACTERS).describe('The whole program. Nothing remains of earlier calls.'),
  files: z
    .array(z.string().trim().min(1).max(300))
    .max(MAX_FILES)
    .optional()
    .describe('Ids or names of attached files, or ids of artifacts. The code finds them in its current folder.'),
});

interface Inputs {
  files: CodeFile[];
  read: StoredText[];
}

/** Lets agents compute, and make charts and sheets. The code reaches nothing but the files that the call names. */
export function createCodeTool(deps: CodeToolDeps): PlatformTool {
  const { runner, given } = deps;
  return definePlatformTool({
    name: 'run_code',
    hint: 'run a Python or JavaScript program, also on files, for calculations, charts and sheets',
    description:
      'Runs a program without network, for calculations, data, charts and sheets. Print results: you get the output and the ' +
      'value of the last expression. The user gets each file that the code writes to its current folder. Python 3.14 has the ' +
      'standard library, pygal (charts: chart.render_to_png("chart.png") or render_to_file("chart.svg")), openpyxl, xlsxwriter and tabulate, but not ' +
      'numpy, pandas or matplotlib. JavaScript has readFile(name), readBytes(name), writeFile(name, text or bytes) and ' +
      'listFiles(), but no modules. SVG text in a file named .png becomes a PNG picture. A run has 20 seconds of processor time.',
    switchedBy: CODE_TOOL,
    effect: 'own',
    // The output can repeat what the files say.
    reads: 'attachment',
    input: Input,
    describe: ({ language }) => (language === 'python' ? 'Running Python code' : 'Running JavaScript code'),
    async prepare({ language, code, files: names = [] }, call) {
      const inputs = await inputsOf(deps, names, call);
      if (typeof inputs === 'string') return withOutcome(failed(inputs));
      const { files, read } = inputs;
      const result = await runner.run({ language, code, files, owner: call.userId, signal: call.signal });
      const text = storable(textOf(result, roomIn(call.contextWindow)));
      if (result.error !== undefined) return withOutcome({ ...failed(text), read });
      if (result.files.length === 0) return withOutcome({ ...succeeded(text), read });
      const stored = await given.store(await Promise.all(result.files.map(givenFile)), call);
      if (!Array.isArray(stored)) return withOutcome(stored);
      return async (tx) => {
        const shown = await given.show(stored, call, tx);
        const list = shown.map(({ name, size }) => `“${name}”, ${size} bytes`).join('; ');
        return { ...succeeded(`${text}\nThe user has these files: ${list}.`), read, showsMessage: true };
      };
    },
  });
}

/** @returns why a file cannot be used */
async function inputsOf(deps: CodeToolDeps, names: readonly string[], call: ToolCall): Promise<Inputs | string> {
  const inputs: Inputs = { files: [], read: [] };
  const taken = new Set<string>();
  let left = INPUT_BYTES;
  for (const name of names) {
    const artifact = isId(name) ? await deps.artifactById(call.workspaceId, name) : undefined;
    if (artifact !== undefined) {
      const bytes = Buffer.from(artifact.content);
      left -= bytes.length;
      inputs.files.push({ name: freeName(`${artifact.title}.md`, taken), bytes });
      inputs.read.push({ kind: 'artifact', id: name, version: artifact.version });
    } else {
      const file = await fileNamed(deps, call.conversationId, name);
      if (typeof file === 'string') return file;
      left -= file.size;
      if (left >= 0) inputs.files.push({ name: freeName(file.name, taken), bytes: await deps.bytesOf(file) });
    }
    if (left < 0) return `The files have more than ${INPUT_BYTES / 1024 / 1024} MiB together.`;
  }
  return inputs;
}

/** The code finds files by their names. */
function freeName(name: string, taken: Set<string>): string {
  const clean = cleanName(name);
  const [, start = '', ending = ''] = /^(.*?)(\.[^.]*)?$/.exec(clean) ?? [];
  let free = clean;
  for (let count = 2; taken.has(free); count += 1) free = `${start} (${count})${ending}`;
  taken.add(free);
  return free;
}

/** Clients show pictures: their bytes decide, not their names. */
async function givenFile({ name, type, bytes }: WrittenFile): Promise<GivenFile> {
  const sniffed = await sniffMediaType(Buffer.from(bytes.subarray(0, SNIFFED_BYTES)));
  const isKnown = type !== 'application/octet-stream' && (!isPicture(type) || type === sniffed);
  return { name: cleanName(name), type: isKnown ? type : sniffed, bytes };
}

/** A stack ends with its error, and output with its result, so both keep their ends. */
function textOf({ output, error }: CodeResult, room: number): string {
  const parts = [
    ...(error === undefined ? [] : [`The code failed: ${cut(error.message, Math.floor(room / 4))}`]),
    output === '' ? 'The code printed nothing.' : `Output:\n${cut(output, room)}`,
  ];
  return parts.join('\n');
}

function cut(text: string, room: number): string {
  if (text.length <= room) return text;
  const half = Math.floor(room / 2);
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`;
}
