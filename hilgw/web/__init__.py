"""`hilgw web`: the page, a process of its own on `hilgw.client.Gateway`.

`model` is what the page shows; `live` fills it from running gateways. `server` serves the pages of
`pages`, each a module of this room; `access` decides who may do what. `stop_server` is STOP ALL, a
process of its own. The page `scene` draws a `drawing`: as a `plan`, or in 3-D.
"""
