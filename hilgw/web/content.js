// As NiceGUI's html.js, but only what differs from before is changed: what a visitor selects or has
// in focus stays where it is. Between press and release, what is pressed does not change at all: the
// click is of what the visitor saw.
const CLICK_MS = 5000; // who presses for longer does not click
const late = new Set(); // those that changed meanwhile
let pressed = null;
let timer = 0;

function release() {
  pressed = null;
  late.forEach((each) => each.render());
  late.clear();
}

addEventListener("pointerdown", (event) => {
  if (event.button) return;
  pressed = event.target;
  clearTimeout(timer);
  timer = setTimeout(release, CLICK_MS);
}, true);
for (const each of ["pointerup", "pointercancel"])
  addEventListener(each, () => setTimeout(release), true); // the click comes first

function replaceChildren(element, other) {
  const before = [...element.childNodes];
  const now = [...other.childNodes];
  before.slice(now.length).forEach((node) => node.remove());
  now.forEach((node, at) => {
    const old = before[at];
    if (!old) element.append(node);
    else if (old.nodeName !== node.nodeName) old.replaceWith(node);
    else if (node instanceof Element) replace(old, node);
    else if (old.data !== node.data) old.data = node.data;
  });
}

function replace(element, other) {
  for (const { name } of [...element.attributes])
    if (!other.hasAttribute(name)) element.removeAttribute(name);
  for (const { name, value } of other.attributes)
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  replaceChildren(element, other);
}

export default {
  template: `<component :is="tag"></component>`,
  props: { innerHTML: String, sanitize: Boolean, tag: String },
  mounted() {
    this.render();
  },
  watch: {
    innerHTML() {
      this.render();
    },
  },
  methods: {
    render() {
      if (this.$el.contains(pressed)) return late.add(this);
      const other = document.createElement(this.tag);
      if (this.sanitize) other.setHTML(this.innerHTML);
      else other.innerHTML = this.innerHTML;
      replaceChildren(this.$el, other);
    },
  },
};
