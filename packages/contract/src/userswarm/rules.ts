import { USERSWARM_NAME, USERSWARM_NAME_LENGTH } from './names.js';

/** A CEL rule for the API server. A rule with `oldSelf` applies only to updates. */
export interface ValidationRule {
  rule: string;
  message: string;
  reason: 'FieldValueInvalid' | 'FieldValueForbidden';
  /** Field of the message, relative to the rule; default: the rule's field. */
  fieldPath?: string;
}

/** Rules for the whole object: its name is also its children's, including a Service. */
export const NAME_RULES: ValidationRule[] = [
  {
    rule: `self.metadata.name.matches('${USERSWARM_NAME.source}')`,
    message: 'must be workspace-<workspace id>, in lower-case letters, digits and hyphens, ending in a letter or digit',
    reason: 'FieldValueInvalid',
    fieldPath: '.metadata.name',
  },
  {
    rule: `self.metadata.name.size() <= ${USERSWARM_NAME_LENGTH}`,
    message: `must have at most ${USERSWARM_NAME_LENGTH} characters`,
    reason: 'FieldValueInvalid',
    fieldPath: '.metadata.name',
  },
];

/**
 * Rules for the spec, because a rule on an optional field is skipped when the field is added or removed. Another owner
 * or namespace would leave the old runtime behind.
 */
export const IMMUTABLE_RULES: ValidationRule[] = [
  {
    rule: 'self.userId == oldSelf.userId',
    message: 'userId cannot be changed',
    reason: 'FieldValueForbidden',
    fieldPath: '.userId',
  },
  {
    rule: 'has(self.placement) == has(oldSelf.placement) && (!has(self.placement) || self.placement == oldSelf.placement)',
    message: 'placement cannot be changed',
    reason: 'FieldValueForbidden',
    fieldPath: '.placement',
  },
];

/** Rules for a quantity, which is a string or an integer. */
export const QUANTITY_RULES: ValidationRule[] = [
  {
    rule: 'isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity("0"))',
    message: 'must be a quantity that is not negative, such as 500m, 2 or 512Mi',
    reason: 'FieldValueInvalid',
  },
];

/**
 * The references that the kubelet accepts (github.com/distribution/reference): host and port, path components in lower
 * case, tag, digest.
 */
export const IMAGE_REFERENCE = ((): RegExp => {
  const label = '[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*';
  const host = String.raw`(?:${label}(?:\.${label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
  const component = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
  const tag = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
  const digest = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
  return new RegExp(`^(?:(?:${host}/)?${component}(?:/${component})*(?::${tag})?(?:@(?:${digest}))?)?$`);
})();

/** Empty selects the configured image. The API server skips the rule in updates that do not change a stored image. */
export const IMAGE_RULES: ValidationRule[] = [
  {
    rule: `self == '' || self.matches(r'${IMAGE_REFERENCE.source.replaceAll(String.raw`\/`, '/')}')`,
    message: 'must be an image reference without blanks, such as registry.example.com/team/agent-runtime:1.2.3',
    reason: 'FieldValueInvalid',
  },
];

/** Rules for requests and limits. Invalid quantities pass, because the rule above rejects them. */
export const RESOURCES_RULES: ValidationRule[] = ['cpu', 'memory'].map((name) => {
  const [request, limit] = [`self.requests.${name}`, `self.limits.${name}`];
  return {
    rule: [
      '!has(self.requests)',
      '!has(self.limits)',
      `!has(${request})`,
      `!has(${limit})`,
      `!isQuantity(string(${request}))`,
      `!isQuantity(string(${limit}))`,
      `quantity(string(${request})).compareTo(quantity(string(${limit}))) <= 0`,
    ].join(' || '),
    message: `the request of ${name} must not be above its limit`,
    reason: 'FieldValueInvalid',
    fieldPath: `.requests.${name}`,
  };
});
