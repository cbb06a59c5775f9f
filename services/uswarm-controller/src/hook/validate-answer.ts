import { CHILD_GROUPS, type ChildGroup, type KubernetesObject, SyncResponse } from '@uswarm/contract/userswarm';

const KINDS: ReadonlySet<string> = new Set(CHILD_GROUPS);

export const groupOf = ({ apiVersion, kind }: KubernetesObject): string => `${kind}.${apiVersion}`;
const isChildGroup = (group: string): group is ChildGroup => KINDS.has(group);

/** What an answer has to be before anything is done because of it. `problem` is stable for the same answer. */
export function validateAnswer(value: unknown): { answer: SyncResponse } | { problem: string } {
  const parsed = SyncResponse.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'malformed'}`.replace(/^: /, '') };
  }
  const seen = new Set<string>();
  for (const child of parsed.data.children as KubernetesObject[]) {
    const { name, namespace } = child.metadata;
    const group = groupOf(child);
    const label = `${group} ${namespace ?? ''}/${name}`;
    if (!isChildGroup(group)) return { problem: `${label} is of a kind that no child may be` };
    if (namespace === undefined) return { problem: `${label} has no namespace` };
    if (seen.has(label)) return { problem: `${label} is named twice` };
    seen.add(label);
  }
  return { answer: parsed.data };
}
