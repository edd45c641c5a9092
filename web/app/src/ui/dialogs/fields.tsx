/** Fields that take effect at once. */

interface ChoiceProps<T> {
  label: string;
  /** The options, as pairs of value and label. */
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (value: T) => void;
}

export function Choice<T>({ label, options, value, onChange }: ChoiceProps<T>) {
  return (
    <label class="field field-row">
      <span>{label}</span>
      <select
        value={String(options.findIndex(([one]) => one === value))}
        onChange={(event) => {
          const chosen = options[Number(event.currentTarget.value)];
          if (chosen) {
            onChange(chosen[0]);
          }
        }}
      >
        {options.map(([, name], index) => (
          <option key={name} value={String(index)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  /** Returns whether the change succeeded. Otherwise the field reverts. */
  onChange: (checked: boolean) => Promise<boolean> | boolean;
}

export function Check({ label, checked, onChange }: CheckProps) {
  const change = async (box: HTMLInputElement) => {
    const wanted = box.checked;
    if (!(await onChange(wanted))) {
      box.checked = !wanted;
    }
  };
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => void change(event.currentTarget)} />
      <span>{label}</span>
    </label>
  );
}
