import { Field as Input } from '../ui/field.js';
import { ui } from '../ui/ui.js';
import { type Field, INPUTS, optionsOf } from './card-form.js';
import { visibleText } from './visible-text.js';

/** A field of a tool server's question. */
export function CardField({ field }: { field: Field }) {
  const { name, required, initial = [] } = field;
  const label = visibleText([field.label, field.help].filter(Boolean).join(': '));
  const input = INPUTS[field.type];
  if (input) return <Input {...{ label, name, required }} {...input} defaultValue={initial[0]} />;
  const type = field.type === 'choices' ? 'checkbox' : 'radio';
  return (
    <fieldset className={ui('field')}>
      <legend>{label}</legend>
      {optionsOf(field).map(({ value, label: text }) => (
        <label key={value} className={ui('row')}>
          <input
            {...{ type, name, value }}
            defaultChecked={initial.includes(value)}
            required={required && type === 'radio'}
          />
          {visibleText(text)}
        </label>
      ))}
    </fieldset>
  );
}
