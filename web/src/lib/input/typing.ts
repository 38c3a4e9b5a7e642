/** Whether a key is meant for the field that has the focus. Sliders, radio buttons and check boxes use arrows and Space, but no letters. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (target instanceof HTMLInputElement && ["range", "radio", "checkbox"].includes(target.type))
    return key.length > 1 || key === " ";
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
