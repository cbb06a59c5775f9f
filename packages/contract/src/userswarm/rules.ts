import { USERSWARM_NAME, USERSWARM_NAME_LENGTH } from './names.js';

/** A CEL rule as the API server evaluates it; `oldSelf` makes it one of updates only. */
export interface ValidationRule {
  rule: string;
  message: string;
  reason: 'FieldValueInvalid' | 'FieldValueForbidden';
  /** What the message is about, from where the rule stands; that place itself by default. */
  fieldPath?: string;
}

/** Of the whole object: the name becomes that of the children, which is a Service's among others. */
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
 * Of the spec, not of the fields: a rule on an optional field is skipped when it appears or goes.
 * A runtime that changed its owner or namespace would leave the old one's behind.
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

/** Of one quantity, which is a string or a whole number. */
export const QUANTITY_RULES: ValidationRule[] = [
  {
    rule: 'isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity("0"))',
    message: 'must be a quantity that is not negative, such as 500m, 2 or 512Mi',
    reason: 'FieldValueInvalid',
  },
];

/** Of requests and limits. What is no quantity is for the rule above to say, so it passes here. */
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
