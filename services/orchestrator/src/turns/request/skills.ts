import { create } from '@bufbuild/protobuf';
import type { AgentPrompt } from '@uswarm/contract';
import { type SkillDocument, SkillDocumentSchema } from '@uswarm/runtime-proto';

/** Such runtimes let the model load long prompts on demand. */
const SKILLS_FEATURE = 'skills.1';
/** Bytes of UTF-8. Longer prompts are skills. */
const PROMPT_BYTES = 2 * 1024;

export interface Instructions {
  /** Sent with every model call. */
  prompts: string[];
  /** Loaded by the model on demand. */
  skillDocuments: SkillDocument[];
}

/** Without the feature, all prompts are always sent. Pure. */
export function instructionsOf(prompts: readonly AgentPrompt[], features: readonly string[]): Instructions {
  const isSkill = ({ content }: AgentPrompt): boolean =>
    features.includes(SKILLS_FEATURE) && Buffer.byteLength(content) > PROMPT_BYTES;
  const names = new Set<string>();
  return {
    prompts: prompts.filter((prompt) => !isSkill(prompt)).map(({ content }) => content),
    skillDocuments: prompts
      .filter(isSkill)
      .map(({ name, description, content }) =>
        create(SkillDocumentSchema, { name: uniqueName(name, names), description, content }),
      ),
  };
}

/** Users may give several prompts the same name, but the model loads a skill by its name. */
function uniqueName(name: string, names: Set<string>): string {
  let unique = name;
  for (let copy = 2; names.has(unique); copy += 1) unique = `${name} (${copy})`;
  names.add(unique);
  return unique;
}
